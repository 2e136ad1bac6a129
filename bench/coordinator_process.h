// A coordinator in a separate process, for benchmarks that measure its cost. Also simulated workers, which send the
// messages of workers and read no data.
#ifndef PENSTOCK_BENCH_COORDINATOR_PROCESS_H_
#define PENSTOCK_BENCH_COORDINATOR_PROCESS_H_

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "net/channel.h"
#include "penstock/v1/control.grpc.pb.h"
#include "server/coordinator/service/coordinator.h"
#include "tests/server/coordinator/job_specs.h"

namespace penstock::bench {

// The constructor forks, so it must run before gRPC starts.
class CoordinatorProcess {
 public:
  // All callers of a benchmark are one host, so the coordinator has no limits for a host.
  explicit CoordinatorProcess(coordinator::CoordinatorOptions asked) {
    constexpr uint32_t kNoLimit = 1 << 30;
    asked.limits.connections.per_host = asked.limits.connections.per_second = kNoLimit;
    asked.limits.calls_per_second = asked.limits.sessions.per_host = asked.limits.sessions.per_name = kNoLimit;
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    dir_ = std::filesystem::temp_directory_path() / ("penstock-bench-" + std::to_string(getpid()));
    int told[2];
    if (pipe(told) != 0 || pipe(ended_) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      close(ended_[1]);
      std::_Exit(Run(asked, told[1]));
    }
    close(told[1]);  // so that the pipe ends if the coordinator does not start
    for (char c = 0; read(told[0], &c, 1) == 1 && c != '\n';) address_ += c;
    close(told[0]);
  }
  ~CoordinatorProcess() {
    close(ended_[1]);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(dir_);
  }
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  // Returns host:port, or "" if the coordinator did not start.
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  // Returns the CPU time of the process, in seconds.
  double CpuSeconds() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string word;
    double ticks = 0;
    for (int i = 3; fields >> word && i <= 15; ++i) {
      if (i >= 14) ticks += std::stod(word);
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  // Returns the resident memory of the process.
  double MemoryBytes() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("VmRSS:", 0) == 0) return 1024 * std::strtod(line.c_str() + 6, nullptr);
    }
    return 0;
  }

 private:
  int Run(coordinator::CoordinatorOptions options, int told) const {
    options.listen = "127.0.0.1:0";
    options.state_dir = dir_;
    auto coordinator = coordinator::Coordinator::Start(options);
    if (!coordinator.ok()) {
      std::fprintf(stderr, "%s\n", coordinator.status().ToString().c_str());
      return 1;
    }
    const std::string address = (*coordinator)->address() + "\n";
    if (write(told, address.data(), address.size()) < 0) return 1;
    char none;
    while (read(ended_[0], &none, 1) > 0) {
    }
    return 0;
  }

  std::string dir_, address_;
  int ended_[2] = {-1, -1};
  pid_t pid_ = -1;
};

template <typename Method, typename Req, typename Rep>
void Call(v1::Coordinator::Stub* stub, Method method, const Req& request, Rep* reply) {
  grpc::ClientContext context;
  net::PrepareCall(&context, absl::Seconds(20));
  const grpc::Status status = (stub->*method)(&context, request, reply);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error_message().c_str());
}

// Simulated workers. They send heartbeats, report tasks as done, and change their address on request.
class MadeUpWorkers {
 public:
  using Stub = v1::Coordinator::Stub;
  // Each data set has `shards` shards of 1000 records.
  MadeUpWorkers(Stub* stub, int workers, int shards) : stub_(stub), workers_(workers), shards_(shards) {
    for (int i = 0; i < workers_; ++i) Register(i, 0);
  }
  static std::string Name(int i) { return "worker-" + std::to_string(i); }
  void set_shards(int shards) { shards_ = shards; }
  void Register(int i, int home) {
    v1::RegisterWorkerRequest hello = coordinator::WorkerCalled(Name(i));
    hello.set_address("host-" + std::to_string(home) + ".example:7071");
    v1::RegisterWorkerReply reply;
    Call(stub_, &Stub::RegisterWorker, hello, &reply);
  }
  void Beat() {
    for (int i = 0; i < workers_; ++i) {
      v1::HeartbeatReply beat;
      Call(stub_, &Stub::Heartbeat, coordinator::BeatOf(Name(i)), &beat);
      std::vector<v1::Task> tasks = coordinator::TasksIn(beat);
      while (!tasks.empty()) {
        const v1::Task task = tasks.back();
        tasks.pop_back();
        v1::ReportTaskReply next;
        Call(stub_, &Stub::ReportTask, coordinator::DoneBy(Name(i), task, shards_, 1000), &next);
        for (const v1::Task& more : next.tasks()) {
          const auto same = [&](const v1::Task& known) { return known.id() == more.id(); };
          if (std::none_of(tasks.begin(), tasks.end(), same)) tasks.push_back(more);
        }
      }
    }
  }
  // Submits the job and sends heartbeats until it is READY.
  void Prepare(const std::string& job) {
    v1::SubmitReply submitted;
    Call(stub_, &Stub::Submit, coordinator::SubmitOf(coordinator::SimpleSpec(job)), &submitted);
    for (;;) {
      Beat();
      v1::StatusReply status;
      Call(stub_, &Stub::GetStatus, v1::StatusRequest(), &status);
      for (const auto& known : status.jobs()) {
        if (known.name() == job && known.state() == v1::READY) return;
      }
    }
  }

 private:
  Stub* const stub_;
  const int workers_;
  int shards_;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_COORDINATOR_PROCESS_H_
