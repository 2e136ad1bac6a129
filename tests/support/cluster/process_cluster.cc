#include "tests/support/cluster/process_cluster.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/mutex.h"
#include "net/tls/client_security.h"

namespace penstock::support {
namespace {

// Forks on a thread that lives as long as the program. The kernel sends a child its parent's death signal when the
// thread that forked it ends, not when the program does.
class Forker {
 public:
  static Forker& Get() {
    static Forker* const forker = new Forker;
    return *forker;
  }

  // Returns the child's process ID, or a negative number. The child runs `child`, which does not return.
  pid_t Fork(const std::function<void()>& child) {
    MutexLock one(&calls_);
    MutexLock lock(&mutex_);
    child_ = &child;
    changed_.NotifyAll();
    while (child_ != nullptr) changed_.Wait(&mutex_);
    return pid_;
  }

 private:
  Forker() {
    std::thread([this] { Run(); }).detach();
  }

  void Run() {
    MutexLock lock(&mutex_);
    for (;;) {
      while (child_ == nullptr) changed_.Wait(&mutex_);
      pid_ = fork();
      if (pid_ == 0) (*child_)();
      child_ = nullptr;
      changed_.NotifyAll();
    }
  }

  Mutex calls_;  // held by one call at a time; acquired before mutex_
  Mutex mutex_;
  CondVar changed_;
  const std::function<void()>* child_ ABSL_GUARDED_BY(mutex_) = nullptr;
  pid_t pid_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace

Process::Process(std::vector<std::string> arguments, const std::string& log, std::vector<std::string> environment) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = Forker::Get().Fork([&] {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
      dup2(fd, 1);
      dup2(fd, 2);
    }
    execve(argv[0], argv.data(), variables.data());
    _exit(127);
  });
  PS_CHECK(pid_ >= 0);
}

Process::~Process() {
  if (reaped_) return;
  Signal(SIGKILL);
  WaitForExit();
}

void Process::Signal(int signal) {
  if (reaped_) return;
  kill(pid_, signal);
  // Otherwise a thread could still run for a while.
  siginfo_t info;
  if (signal == SIGSTOP) waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

bool Process::running() {
  if (reaped_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  reaped_ = true;
  exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return false;
}

int Process::WaitForExit(std::chrono::milliseconds timeout) {
  return WaitUntil([this] { return !running(); }, timeout) ? exit_ : INT_MIN;
}

uint64_t Process::Memory(const std::string& which) const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/status"));
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(which + ":", 0) == 0) return std::strtoull(line.c_str() + which.size() + 1, nullptr, 10) * 1024;
  }
  return 0;
}

ProcessCluster::ProcessCluster(const ProcessClusterOptions& options, std::vector<sources::DataRoot> roots)
    : options_(options), roots_(std::move(roots)) {
  StartCoordinator("127.0.0.1:0");
  const absl::StatusOr<net::ClientSecurity> security = net::OpenClientSecurity(options_.tls, options_.token_file);
  PS_CHECK(security.ok());
  control_ = std::make_unique<Control>(address_, *security);
  for (int i = 0; i < options_.workers; ++i) AddWorker();
}

ProcessCluster::~ProcessCluster() {
  if (std::getenv("PENSTOCK_TEST_LOGS") != nullptr) std::fputs(Logs().c_str(), stderr);
}

std::string ProcessCluster::HttpsAddress() const {
  const std::string logs = Logs(), listens = "HTTPS listens on ";
  const size_t at = logs.find(listens);
  EXPECT_NE(at, std::string::npos) << logs;
  if (at == std::string::npos) return "";
  const std::string address = logs.substr(at + listens.size());
  return address.substr(0, address.find('\n'));
}

std::string ProcessCluster::Logs() const {
  std::string logs;
  for (int i = 0; i < starts_; ++i) {
    absl::StrAppend(&logs, "---- process ", i, "\n",
                    ReadWholeFile(folder_.File(absl::StrCat("log-", i))).value_or("(no log)\n"));
  }
  return logs;
}

void ProcessCluster::WaitForPort(const std::string& port_file, std::string* port) {
  const bool ready = WaitUntil([&] {
    const auto text = ReadWholeFile(port_file);
    if (text.ok()) *port = std::string(absl::StripAsciiWhitespace(*text));
    return text.ok();
  });
  if (ready) return;
  std::fprintf(stderr, "a penstockd does not become ready:\n%s", Logs().c_str());
  std::abort();
}

void ProcessCluster::StartCoordinator(const std::string& listen) {
  const std::string config = folder_.File("coordinator.textproto");
  PS_CHECK(WriteFileAtomically(
               config, absl::StrCat("coordinator_settings { heartbeat_ms: ", options_.heartbeat_ms,
                                    " dead_after_ms: ", options_.dead_after_ms, " }\n", options_.coordinator_config))
               .ok());
  const std::string port_file = folder_.File(absl::StrCat("port-", starts_));
  std::vector<std::string> arguments = options_.coordinator_prefix;
  arguments.insert(arguments.end(), {PENSTOCKD, "coordinator", "--config", config, "--listen", listen, "--state-dir",
                                     coordinator_dir(), "--port-file", port_file});
  arguments.insert(arguments.end(), options_.coordinator_flags.begin(), options_.coordinator_flags.end());
  coordinator_ = std::make_unique<Process>(std::move(arguments), folder_.File(absl::StrCat("log-", starts_)));
  ++starts_;
  std::string port;
  WaitForPort(port_file, &port);
  address_ = "127.0.0.1:" + port;
}

void ProcessCluster::RestartCoordinator() {
  coordinator_.reset();
  StartCoordinator(address_);
}

ProcessCluster::WorkerProcess& ProcessCluster::AddWorker(const std::vector<std::string>& flags,
                                                         std::vector<std::string> environment) {
  return AddWorkerAt(roots_, flags, std::move(environment));
}

ProcessCluster::WorkerProcess& ProcessCluster::AddWorkerAt(const std::vector<sources::DataRoot>& roots,
                                                           const std::vector<std::string>& flags,
                                                           std::vector<std::string> environment) {
  WorkerProcess worker;
  worker.program = PENSTOCKD;
  worker.state_dir = folder_.File(absl::StrCat("worker-", workers_.size()));
  worker.arguments = options_.worker_prefix;
  for (const std::string& argument : {worker.program, std::string("worker"), std::string("--coordinator"), address_,
                                      std::string("--state-dir"), worker.state_dir, std::string("--threads"),
                                      std::to_string(options_.threads), std::string("--socket-dir"), socket_dir()}) {
    worker.arguments.push_back(argument);
  }
  for (const sources::DataRoot& root : roots) {
    worker.arguments.push_back("--data-root");
    worker.arguments.push_back(absl::StrCat(root.name, "=", root.path));
  }
  worker.arguments.insert(worker.arguments.end(), options_.worker_flags.begin(), options_.worker_flags.end());
  worker.arguments.insert(worker.arguments.end(), flags.begin(), flags.end());
  worker.environment = std::move(environment);
  StartWorker(&worker);
  workers_.push_back(std::move(worker));
  return workers_.back();
}

void ProcessCluster::StartWorker(WorkerProcess* worker) {
  const std::string port_file = folder_.File(absl::StrCat("port-", starts_));
  std::vector<std::string> arguments = worker->arguments;
  arguments.insert(arguments.end(), {"--port-file", port_file});
  worker->process =
      std::make_unique<Process>(std::move(arguments), folder_.File(absl::StrCat("log-", starts_)), worker->environment);
  ++starts_;
  std::string port;
  WaitForPort(port_file, &port);
  worker->id = std::string(absl::StripAsciiWhitespace(ReadWholeFile(worker->state_dir + "/worker_id").value_or("")));
}

void ProcessCluster::RestartWorker(size_t i) {
  workers_[i].process = nullptr;
  StartWorker(&workers_[i]);
}

}  // namespace penstock::support
