// The CPU time of a coordinator with many watchers. The coordinator runs in a separate process, and the RPCs are real.
//
//   watch_bench [--watchers=10000] [--connections=1000] [--seconds=60] [--changes_per_second=0] [--shards=1000]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "bench/coordinator_process.h"
#include "net/grpc_status.h"
#include "net/job_mirror.h"

namespace penstock::bench {
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

// The time until which watchers continue, and the number of those that have ended.
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
    net::PrepareCall(&call_->context, absl::Milliseconds(kPollMs) + absl::Seconds(10));
    stub_->async()->Watch(&call_->context, &call_->request, &call_->reply, [this](grpc::Status s) { Answered(s); });
  }
  // Cancels the call at the end.
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
    const absl::Status taken = status.ok() ? watched_.Apply(call_->reply).status() : net::FromGrpc(status);
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
  net::JobMirror watched_{"train"};
  std::unique_ptr<Call> call_;
};

int Measure(const Options& options, const CoordinatorProcess& coordinator) {
  const std::string& address = coordinator.address();
  const auto admin = v1::Coordinator::NewStub(net::MakeChannel(address));
  MadeUpWorkers workers(admin.get(), kWorkers, options.shards);
  workers.Prepare("train");

  Counts counts;
  End end;
  std::vector<std::unique_ptr<Stub>> stubs;
  for (int i = 0; i < options.connections; ++i) stubs.push_back(v1::Coordinator::NewStub(net::MakeChannel(address)));
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < options.watchers; ++i) {
    watchers.push_back(
        std::make_unique<Watcher>(stubs[static_cast<size_t>(i % options.connections)].get(), &counts, &end));
    watchers.back()->Ask();
    if (i % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // they arrive over ten seconds
    if (i % 1000 == 999) workers.Beat();
  }
  for (int i = 0; i < 5; ++i) {
    workers.Beat();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }

  const double cpu = coordinator.CpuSeconds();
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
      100 * (coordinator.CpuSeconds() - cpu) / seconds, static_cast<double>(counts.answers - answers) / seconds,
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
  coordinator::CoordinatorOptions coordinator_options;
  coordinator_options.heartbeat_ms = 60'000;  // a busy machine must not make workers count as dead
  coordinator_options.dead_after_ms = 600'000;
  const CoordinatorProcess coordinator(coordinator_options);
  return coordinator.address().empty() ? 1 : Measure(options, coordinator);
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
