// What a fleet costs the coordinator: its memory for each shard of a job, and its CPU time with workers that beat and
// trainers that report each second, all of them with a long poll. Real RPCs, a connection each; nobody makes rows.
//
//   fleet_bench [--workers=100] [--trainers=100] [--seconds=30] [--shards=100000]
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
#include "net/job_mirror.h"

namespace penstock {
namespace {

using Stub = v1::Coordinator::Stub;
constexpr uint32_t kPollMs = 20'000;
constexpr int kWatching = 4;                               // while memory is measured
constexpr auto kSettle = std::chrono::milliseconds(3000);  // until answers have gone and memory is given back

struct Options {
  int workers = 100, trainers = 100, seconds = 30, shards = 100'000;
};

// A long poll again and again, of all jobs or of one, until it is stopped.
class Poll {
 public:
  Poll(Stub* stub, const std::string& job) : stub_(stub), watched_(job) {}
  void Ask() {
    MutexLock lock(&mutex_);
    if (stopping_) {
      over_ = true;
      changed_.NotifyAll();
      return;
    }
    call_ = std::make_unique<Of>();
    call_->request = watched_.NextRequest(kPollMs);
    SetDeadline(&call_->context, absl::Milliseconds(kPollMs) + absl::Seconds(10));
    stub_->async()->Watch(&call_->context, &call_->request, &call_->reply, [this](grpc::Status status) {
      if (!status.ok() || !watched_.Apply(call_->reply).ok()) watched_.Lost();
      Ask();
    });
  }
  void Stop() {
    MutexLock lock(&mutex_);
    stopping_ = true;
    call_->context.TryCancel();
    while (!over_) changed_.Wait(&mutex_);
  }

 private:
  struct Of {
    grpc::ClientContext context;
    v1::WatchRequest request;
    v1::WatchReply reply;
  };
  Stub* const stub_;
  JobMirror watched_;
  Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<Of> call_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

// A process of the fleet: its connection, its poll, and what it says each second.
struct Member {
  std::unique_ptr<Stub> stub;
  std::unique_ptr<Poll> poll;
  int number = 0;
  bool worker = false;
  std::string session;
};

void Speak(const Member& member, int second, int workers) {
  const double now = second;
  if (member.worker) {
    v1::HeartbeatRequest beat = BeatOf(MadeUpWorkers::Name(member.number));
    v1::WorkerLoad* const load = beat.mutable_load();
    load->set_rows(static_cast<uint64_t>(1000 * second));
    load->set_rows_per_second(1000);
    load->set_capacity(1100);
    load->set_cpu_seconds(4 * now);
    v1::JobLoad* const job = load->add_jobs();
    job->set_job("train");
    job->set_rows(static_cast<uint64_t>(1000 * second));
    job->set_making_seconds(3.9 * now);
    job->set_timed_rows(static_cast<uint64_t>(1000 * second));
    for (const char* stage : {"other", "parse", "decode", "resize", "random_resized_crop", "flip"}) {
      v1::StageSeconds* const seconds = job->add_stages();
      seconds->set_name(stage);
      seconds->set_seconds(0.6 * now);
    }
    job->set_streams(4);
    v1::HeartbeatReply reply;
    Call(member.stub.get(), &Stub::Heartbeat, beat, &reply);
    return;
  }
  v1::ReportSessionRequest report;
  report.set_session_id(member.session);
  report.set_position(static_cast<uint64_t>(10 * second));
  report.set_rows(static_cast<uint64_t>(1000 * second));
  report.set_rows_per_second(1000);
  report.set_carriers("grpc");
  report.mutable_times()->set_seconds(now);
  report.mutable_times()->set_waited_seconds(0.1 * now);
  for (int i = 0; i < std::min(workers, 16); ++i) {
    v1::WaitedOn* const on = report.mutable_times()->add_waited_on();
    on->set_worker(MadeUpWorkers::Name(i));
    on->set_seconds(0.005 * now);
  }
  v1::ReportSessionReply reply;
  Call(member.stub.get(), &Stub::ReportSession, report, &reply);
}

int Measure(const Options& options, const CoordinatorProcess& coordinator) {
  const auto admin = v1::Coordinator::NewStub(MakeChannel(coordinator.address()));
  MadeUpWorkers workers(admin.get(), options.workers, 1000);
  workers.Prepare("train");
  // Memory: two large jobs after a small one, and what the second adds, with some who are sent all jobs.
  std::vector<std::unique_ptr<Poll>> watching;
  for (int i = 0; i < kWatching; ++i) {
    watching.push_back(std::make_unique<Poll>(admin.get(), ""));
    watching.back()->Ask();
  }
  const double empty = coordinator.MemoryBytes();
  workers.set_shards(options.shards);
  workers.Prepare("first");
  std::this_thread::sleep_for(kSettle);
  const double before = coordinator.MemoryBytes();
  workers.Prepare("second");
  std::this_thread::sleep_for(kSettle);
  const double after = coordinator.MemoryBytes();
  std::printf("memory: %.0f bytes a shard by the second job of %d shards (%.0f MB without jobs, %.0f, %.0f MB)\n",
              (after - before) / options.shards, options.shards, empty / 1e6, before / 1e6, after / 1e6);
  std::fflush(stdout);
  for (const char* job : {"first", "second"}) {
    v1::DeleteRequest remove;
    remove.set_job(job);
    remove.set_running(true);
    v1::DeleteReply removed;
    Call(admin.get(), &Stub::Delete, remove, &removed);
  }
  for (const std::unique_ptr<Poll>& poll : watching) poll->Stop();
  std::this_thread::sleep_for(kSettle);
  std::printf("memory once both are deleted: %.0f MB\n", coordinator.MemoryBytes() / 1e6);

  std::vector<Member> members(static_cast<size_t>(options.workers + options.trainers));
  for (size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    member.worker = i < static_cast<size_t>(options.workers);
    member.number = static_cast<int>(member.worker ? i : i - static_cast<size_t>(options.workers));
    member.stub = v1::Coordinator::NewStub(MakeChannel(coordinator.address()));
    member.poll = std::make_unique<Poll>(member.stub.get(), member.worker ? "" : "train");
    if (!member.worker) {
      v1::OpenSessionRequest open =
          SessionOn("train", static_cast<uint32_t>(member.number), static_cast<uint32_t>(options.trainers));
      open.set_host("host-" + std::to_string(member.number));
      open.set_batch_size(static_cast<uint32_t>(options.trainers));
      v1::OpenSessionReply opened;
      Call(member.stub.get(), &Stub::OpenSession, open, &opened);
      member.session = opened.session_id();
    }
    member.poll->Ask();
  }
  // All of them in each second, evenly, by a few threads; the first seconds are not measured.
  constexpr int kThreads = 4, kWarm = 5;
  const auto start = std::chrono::steady_clock::now();
  std::atomic<double> cpu{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int second = 0; second < kWarm + options.seconds; ++second) {
        if (t == 0 && second == kWarm) cpu = coordinator.CpuSeconds();
        for (size_t i = static_cast<size_t>(t); i < members.size(); i += kThreads) {
          std::this_thread::sleep_until(start + std::chrono::seconds(second) +
                                        std::chrono::microseconds(1'000'000 * i / members.size()));
          Speak(members[i], second + 1, options.workers);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("CPU: %.2f %% of a core with %d workers and %d trainers (%d s)\n",
              100 * (coordinator.CpuSeconds() - cpu) / options.seconds, options.workers, options.trainers,
              options.seconds);
  std::fflush(stdout);
  for (Member& member : members) member.poll->Stop();
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&](const std::string& name, int* value) {
      if (word.rfind("--" + name + "=", 0) != 0) return false;
      *value = std::atoi(word.c_str() + name.size() + 3);
      return true;
    };
    if (number("workers", &options.workers) || number("trainers", &options.trainers) ||
        number("seconds", &options.seconds) || number("shards", &options.shards)) {
      continue;
    }
    std::fprintf(stderr, "unknown flag %s\n", argv[i]);
    return 2;
  }
  CoordinatorOptions coordinator_options;
  coordinator_options.dead_after_ms = 600'000;  // nobody dies because this machine is busy
  const CoordinatorProcess coordinator(coordinator_options);
  return coordinator.address().empty() ? 1 : Measure(options, coordinator);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
