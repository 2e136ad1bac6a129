// The cost of a fleet for the coordinator: its memory per shard of a job, and its CPU time with workers that send
// heartbeats and trainers that report. Each member has a long poll and a connection of its own. Each calls once per
// second, or at the times that the coordinator requests. The two schedules take turns. The RPCs are real. No process
// makes rows.
//
//   fleet_bench [--workers=100] [--trainers=100] [--seconds=10] [--turns=3] [--shards=100000]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "bench/coordinator_process.h"
#include "net/job_mirror.h"

namespace penstock::bench {
namespace {

using Stub = v1::Coordinator::Stub;
constexpr uint32_t kPollMs = 20'000;
constexpr int kWatching = 4;                               // during the measurement of memory
constexpr auto kSettle = std::chrono::milliseconds(3000);  // until answers have arrived and memory is released

struct Options {
  int workers = 100, trainers = 100, seconds = 10, shards = 100'000, turns = 3;
};

// Repeats a long poll, of all jobs or of one, until it is stopped.
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
    net::PrepareCall(&call_->context, absl::Milliseconds(kPollMs) + absl::Seconds(10));
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
  net::JobMirror watched_;
  Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<Of> call_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

// A process of the fleet: its connection, its poll, and its calls of each second.
struct Member {
  std::unique_ptr<Stub> stub;
  std::unique_ptr<Poll> poll;
  int number = 0;
  bool worker = false;
  std::string session;
};

v1::HeartbeatRequest MakeBeat(const Member& member, double now) {
  v1::HeartbeatRequest beat = coordinator::BeatOf(MadeUpWorkers::Name(member.number));
  const auto rows = static_cast<uint64_t>(1000 * now);
  v1::WorkerLoad* const load = beat.mutable_load();
  load->set_rows(rows);
  load->set_rows_per_second(1000);
  load->set_capacity(1100);
  load->set_cpu_seconds(4 * now);
  v1::JobLoad* const job = load->add_jobs();
  job->set_job("train");
  job->set_rows(rows);
  job->set_making_seconds(3.9 * now);
  job->set_timed_rows(rows);
  for (const char* stage : {"other", "parse", "decode", "resize", "random_resized_crop", "flip"}) {
    v1::StageSeconds* const seconds = job->add_stages();
    seconds->set_name(stage);
    seconds->set_seconds(0.6 * now);
  }
  job->set_streams(4);
  return beat;
}

v1::ReportSessionRequest MakeReport(const Member& member, double now, int workers) {
  v1::ReportSessionRequest report;
  report.set_session_id(member.session);
  report.set_position(static_cast<uint64_t>(10 * now));
  report.set_rows(static_cast<uint64_t>(1000 * now));
  report.set_rows_per_second(1000);
  report.set_carriers("grpc");
  report.mutable_times()->set_seconds(now);
  report.mutable_times()->set_waited_seconds(0.1 * now);
  for (int i = 0; i < std::min(workers, 16); ++i) {
    v1::WaitedOn* const on = report.mutable_times()->add_waited_on();
    on->set_worker(MadeUpWorkers::Name(i));
    on->set_seconds(0.005 * now);
  }
  return report;
}

// Runs all members. Each calls at the time that the coordinator requested or, with `evenly`, a second after its last
// call.
class Fleet {
 public:
  using Time = std::chrono::steady_clock::time_point;
  Fleet(const std::vector<Member>* members, int workers, bool evenly)
      : members_(*members), workers_(workers), evenly_(evenly), begin_(std::chrono::steady_clock::now()) {
    const size_t count = members_.size();
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < count; ++i) due_.emplace(begin_ + std::chrono::microseconds(1'000'000 * i / count), i);
  }
  // Calls until `end`, and returns when all answers have arrived.
  void SpeakUntil(Time end) {
    for (Time now = begin_; now < end; now = std::chrono::steady_clock::now()) {
      std::vector<std::pair<Time, size_t>> mine;
      {
        MutexLock lock(&mutex_);
        while (!due_.empty() && due_.top().first <= now) {
          mine.push_back(due_.top());
          due_.pop();
          ++under_way_;
        }
      }
      for (const auto& [due, i] : mine) Speak(i, due);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    MutexLock lock(&mutex_);
    while (under_way_ > 0) changed_.Wait(&mutex_);
  }
  uint64_t failed() const { return failed_; }

 private:
  template <typename Req, typename Rep>
  struct Of {
    grpc::ClientContext context;
    Req request;
    Rep reply;
  };
  void Speak(size_t i, Time due) {
    const double now = std::chrono::duration<double>(due - begin_).count();
    Stub* const stub = members_[i].stub.get();
    if (members_[i].worker) {
      auto call = std::make_shared<Of<v1::HeartbeatRequest, v1::HeartbeatReply>>();
      call->request = MakeBeat(members_[i], now);
      net::PrepareCall(&call->context, absl::Seconds(2));
      stub->async()->Heartbeat(&call->context, &call->request, &call->reply, [=, this](const grpc::Status& status) {
        Answered(i, due, status, call->reply.next_beat_ms());
      });
    } else {
      auto call = std::make_shared<Of<v1::ReportSessionRequest, v1::ReportSessionReply>>();
      call->request = MakeReport(members_[i], now, workers_);
      net::PrepareCall(&call->context, absl::Seconds(2));
      stub->async()->ReportSession(&call->context, &call->request, &call->reply, [=, this](const grpc::Status& status) {
        Answered(i, due, status, call->reply.next_report_ms());
      });
    }
  }
  void Answered(size_t i, Time due, const grpc::Status& status, uint32_t told_ms) {
    const bool told = status.ok() && told_ms != 0 && !evenly_;
    MutexLock lock(&mutex_);
    if (!status.ok()) ++failed_;
    due_.emplace(
        told ? std::chrono::steady_clock::now() + std::chrono::milliseconds(told_ms) : due + std::chrono::seconds(1),
        i);
    if (--under_way_ == 0) changed_.NotifyAll();
  }

  const std::vector<Member>& members_;
  const int workers_;
  const bool evenly_;
  const Time begin_;
  Mutex mutex_;
  CondVar changed_;
  std::priority_queue<std::pair<Time, size_t>, std::vector<std::pair<Time, size_t>>, std::greater<>> due_
      ABSL_GUARDED_BY(mutex_);
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> failed_{0};
};

int Measure(const Options& options, const CoordinatorProcess& coordinator) {
  const auto admin = v1::Coordinator::NewStub(net::MakeChannel(coordinator.address()));
  MadeUpWorkers workers(admin.get(), options.workers, 1000);
  workers.Prepare("train");
  // Memory: two large jobs after a small one, and the increase by the second. Some watchers receive all jobs.
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
    member.stub = v1::Coordinator::NewStub(net::MakeChannel(coordinator.address()));
    member.poll = std::make_unique<Poll>(member.stub.get(), member.worker ? "" : "train");
    if (!member.worker) {
      v1::OpenSessionRequest open = coordinator::SessionOn("train", static_cast<uint32_t>(member.number),
                                                           static_cast<uint32_t>(options.trainers));
      open.set_host("host-" + std::to_string(member.number));
      open.set_batch_size(static_cast<uint32_t>(options.trainers));
      v1::OpenSessionReply opened;
      Call(member.stub.get(), &Stub::OpenSession, open, &opened);
      member.session = opened.session_id();
    }
    member.poll->Ask();
  }
  const auto measure = [&](const auto& meanwhile) {
    const double before_these = coordinator.CpuSeconds();
    meanwhile();
    return 100 * (coordinator.CpuSeconds() - before_these) / options.seconds;
  };
  std::this_thread::sleep_for(kSettle);
  const double silent = measure([&] { std::this_thread::sleep_for(std::chrono::seconds(options.seconds)); });
  std::printf("CPU: %.2f %% of a core without messages\n", silent);
  // The first seconds are not measured. Both schedules take turns.
  for (int turn = 0; turn < options.turns; ++turn) {
    for (const bool evenly : {true, false}) {
      constexpr auto kWarm = std::chrono::seconds(4);
      Fleet fleet(&members, options.workers, evenly);
      const auto begin = std::chrono::steady_clock::now();
      fleet.SpeakUntil(begin + kWarm);
      const double speaking = measure([&] { fleet.SpeakUntil(begin + kWarm + std::chrono::seconds(options.seconds)); });
      std::printf("CPU: %.2f %% of a core with %d workers and %d trainers, %s (%d s, %llu calls failed)\n", speaking,
                  options.workers, options.trainers,
                  evenly ? "evenly in each second" : "at the times that the coordinator sets", options.seconds,
                  static_cast<unsigned long long>(fleet.failed()));
      std::fflush(stdout);
    }
  }
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
        number("seconds", &options.seconds) || number("shards", &options.shards) || number("turns", &options.turns)) {
      continue;
    }
    std::fprintf(stderr, "unknown flag %s\n", argv[i]);
    return 2;
  }
  coordinator::CoordinatorOptions coordinator_options;
  coordinator_options.dead_after_ms = 600'000;  // a busy machine must not make members count as dead
  const CoordinatorProcess coordinator(coordinator_options);
  return coordinator.address().empty() ? 1 : Measure(options, coordinator);
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
