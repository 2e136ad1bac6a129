// What watchers cost the coordinator: a real one in a process of its own, real RPCs, and the CPU time of that process.
//
//   watch_bench [--watchers=10000] [--connections=1000] [--seconds=60] [--changes_per_second=0] [--shards=1000]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/channel.h"
#include "net/grpc_status.h"
#include "net/job_mirror.h"
#include "penstock/v1/control.grpc.pb.h"
#include "server/coordinator/service/coordinator.h"
#include "tests/server/coordinator/job_specs.h"

namespace penstock {
namespace {

using Stub = v1::Coordinator::Stub;
constexpr uint32_t kPollMs = 30'000;
constexpr int kWorkers = 16;

struct Options {
  int watchers = 10'000;
  int connections = 1000;
  int seconds = 60;
  int changes_per_second = 0;
  int shards = 1000;
};

struct Counts {
  std::atomic<uint64_t> answers{0}, bytes{0}, deltas{0}, failures{0};
};

// Until when watchers go on, and how many have ended.
struct End {
  Mutex mutex;
  CondVar changed;
  bool now ABSL_GUARDED_BY(mutex) = false;
  size_t ended ABSL_GUARDED_BY(mutex) = 0;
};

class Watcher {
 public:
  Watcher(Stub* stub, Counts* counts, End* end) : stub_(stub), counts_(counts), end_(end) {}
  void Ask() {
    {
      MutexLock lock(&end_->mutex);
      if (end_->now) {
        ++end_->ended;
        end_->changed.NotifyAll();
        return;
      }
      call_ = std::make_unique<Call>();
    }
    call_->request = watched_.NextRequest(kPollMs);
    SetDeadline(&call_->context, absl::Milliseconds(kPollMs) + absl::Seconds(10));
    stub_->async()->Watch(&call_->context, &call_->request, &call_->reply, [this](grpc::Status s) { Answered(s); });
  }
  // The end has come.
  void Cancel() {
    MutexLock lock(&end_->mutex);
    call_->context.TryCancel();
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::WatchRequest request;
    v1::WatchReply reply;
  };
  void Answered(const grpc::Status& status) {
    ++counts_->answers;
    counts_->bytes += call_->reply.ByteSizeLong();
    const absl::Status taken = status.ok() ? watched_.Apply(call_->reply).status() : FromGrpc(status);
    if (!taken.ok()) {
      watched_.Lost();
      if (!absl::IsCancelled(taken) && ++counts_->failures <= 3) std::fprintf(stderr, "%s\n", taken.ToString().c_str());
    }
    for (const v1::JobUpdate& update : call_->reply.jobs()) counts_->deltas += update.view_deltas_size() > 0;
    Ask();
  }

  Stub* const stub_;
  Counts* const counts_;
  End* const end_;
  JobMirror watched_{"train"};
  std::unique_ptr<Call> call_;
};

// Seconds of CPU time that a process has used.
double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string word;
  double ticks = 0;
  for (int i = 3; fields >> word && i <= 15; ++i) {
    if (i >= 14) ticks += std::stod(word);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

template <typename Method, typename Req, typename Rep>
void Call(Stub* stub, Method method, const Req& request, Rep* reply) {
  grpc::ClientContext context;
  SetDeadline(&context, absl::Seconds(20));
  const grpc::Status status = (stub->*method)(&context, request, reply);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error_message().c_str());
}

// Workers that beat, do what they are asked, and move when they are told.
class Workers {
 public:
  Workers(Stub* stub, int shards) : stub_(stub), shards_(shards) {
    for (int i = 0; i < kWorkers; ++i) Register(i, 0);
  }
  void Register(int i, int home) {
    v1::RegisterWorkerRequest hello = WorkerCalled(Name(i));
    hello.set_address("host-" + std::to_string(home) + ".example:7071");
    v1::RegisterWorkerReply reply;
    Call(stub_, &Stub::RegisterWorker, hello, &reply);
  }
  void Beat() {
    for (int i = 0; i < kWorkers; ++i) {
      v1::HeartbeatReply beat;
      Call(stub_, &Stub::Heartbeat, BeatOf(Name(i)), &beat);
      std::vector<v1::Task> tasks = TasksIn(beat);
      while (!tasks.empty()) {
        const v1::Task task = tasks.back();
        tasks.pop_back();
        v1::ReportTaskReply next;
        Call(stub_, &Stub::ReportTask, DoneBy(Name(i), task, shards_, 1000), &next);
        for (const v1::Task& more : next.tasks()) {
          const auto same = [&](const v1::Task& known) { return known.id() == more.id(); };
          if (std::none_of(tasks.begin(), tasks.end(), same)) tasks.push_back(more);
        }
      }
    }
  }

 private:
  static std::string Name(int i) { return "worker-" + std::to_string(i); }
  Stub* const stub_;
  const int shards_;
};

// Forked before gRPC begins.
int RunCoordinator(const std::string& dir, int told, int ended) {
  CoordinatorOptions options;
  options.listen = "127.0.0.1:0";
  options.state_dir = dir;
  options.heartbeat_ms = 60'000;  // nobody dies because this machine is busy
  options.dead_after_ms = 600'000;
  auto coordinator = Coordinator::Start(options);
  if (!coordinator.ok()) {
    std::fprintf(stderr, "%s\n", coordinator.status().ToString().c_str());
    return 1;
  }
  const std::string address = (*coordinator)->address() + "\n";
  if (write(told, address.data(), address.size()) < 0) return 1;
  char none;
  while (read(ended, &none, 1) > 0) {
  }
  return 0;
}

int Measure(const Options& options, pid_t coordinator, const std::string& address) {
  const auto admin = v1::Coordinator::NewStub(MakeChannel(address));
  Workers workers(admin.get(), options.shards);
  v1::SubmitReply submitted;
  Call(admin.get(), &Stub::Submit, SubmitOf(SimpleSpec("train")), &submitted);
  for (;;) {
    workers.Beat();
    v1::StatusReply status;
    Call(admin.get(), &Stub::GetStatus, v1::StatusRequest(), &status);
    if (!status.jobs().empty() && status.jobs(0).state() == v1::READY) break;
  }

  Counts counts;
  End end;
  std::vector<std::unique_ptr<Stub>> stubs;
  for (int i = 0; i < options.connections; ++i) stubs.push_back(v1::Coordinator::NewStub(MakeChannel(address)));
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < options.watchers; ++i) {
    watchers.push_back(
        std::make_unique<Watcher>(stubs[static_cast<size_t>(i % options.connections)].get(), &counts, &end));
    watchers.back()->Ask();
    if (i % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // they come over ten seconds
    if (i % 1000 == 999) workers.Beat();
  }
  for (int i = 0; i < 5; ++i) {
    workers.Beat();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  const double cpu = CpuSeconds(coordinator);
  const uint64_t answers = counts.answers, bytes = counts.bytes, deltas = counts.deltas, failures = counts.failures;
  const auto start = std::chrono::steady_clock::now();
  const int steps = std::max(1, options.changes_per_second);
  for (int second = 0; second < options.seconds; ++second) {
    workers.Beat();
    for (int i = 0; i < steps; ++i) {
      if (options.changes_per_second > 0) workers.Register(0, second * steps + i + 1);
      std::this_thread::sleep_until(start + std::chrono::milliseconds(1000 * (second * steps + i + 1) / steps));
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "%d watchers, %d connections, %d changes/s: %.2f %% of a core, %.0f answers/s, %.0f bytes each, %llu "
      "failures, %.0f %% deltas\n",
      options.watchers, options.connections, options.changes_per_second,
      100 * (CpuSeconds(coordinator) - cpu) / seconds, static_cast<double>(counts.answers - answers) / seconds,
      static_cast<double>(counts.bytes - bytes) / static_cast<double>(std::max<uint64_t>(1, counts.answers - answers)),
      static_cast<unsigned long long>(counts.failures - failures),
      100 * static_cast<double>(counts.deltas - deltas) /
          static_cast<double>(std::max<uint64_t>(1, counts.answers - answers)));
  std::fflush(stdout);
  {
    MutexLock lock(&end.mutex);
    end.now = true;
  }
  for (const auto& watcher : watchers) watcher->Cancel();
  MutexLock lock(&end.mutex);
  while (end.ended < watchers.size()) end.changed.Wait(&end.mutex);
  return 0;
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&](const char* name, int* value) {
      const std::string begin = std::string("--") + name + "=";
      if (word.rfind(begin, 0) != 0) return false;
      *value = std::atoi(word.c_str() + begin.size());
      return true;
    };
    if (number("watchers", &options.watchers) || number("connections", &options.connections) ||
        number("seconds", &options.seconds) || number("changes_per_second", &options.changes_per_second) ||
        number("shards", &options.shards)) {
      continue;
    }
    std::fprintf(stderr, "unknown flag %s\n", argv[i]);
    std::exit(2);
  }
  return options;
}

int Main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const std::string dir = std::filesystem::temp_directory_path() / ("watch_bench-" + std::to_string(getpid()));
  int told[2], ended[2];
  if (pipe(told) != 0 || pipe(ended) != 0) return 1;
  const pid_t coordinator = fork();
  if (coordinator == 0) {
    close(ended[1]);
    std::_Exit(RunCoordinator(dir, told[1], ended[0]));
  }
  std::string address;
  for (char c = 0; read(told[0], &c, 1) == 1 && c != '\n';) address += c;
  const int result = address.empty() ? 1 : Measure(options, coordinator, address);
  close(ended[1]);
  waitpid(coordinator, nullptr, 0);
  std::filesystem::remove_all(dir);
  return result;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
