// Laws of the coordinator's state under any sequence of events.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "net/job_mirror.h"
#include "net/view_proto.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

class RandomRun {
 public:
  explicit RandomRun(uint32_t seed) : random_(seed) {}

  void Go(int events) {
    for (int i = 0; i < events; ++i) {
      Step();
      Check();
      if (::testing::Test::HasFatalFailure()) return;
    }
    EndsWell();
  }

  // Answers that sent only the changes of a view.
  int deltas() const { return deltas_; }
  int decisions() const { return decisions_; }

 private:
  // Watches one job, or all of them.
  struct Watcher {
    std::string job;
    net::JobMirror mirror{job};
    std::optional<v1::OpenSessionReply> late = {};  // an answer still under way
  };

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  std::string AnyWorker() { return "w" + std::to_string(Below(5)); }
  std::string AnyJob() { return "j" + std::to_string(Below(3)); }

  void Step() {
    switch (Below(14)) {
      case 0:
        h_.Apply(WorkerCalled(AnyWorker(), 1 + Below(2)));
        break;
      case 1:
      case 2:
      case 3: {
        v1::HeartbeatRequest beat = BeatOf(AnyWorker(), 1 + Below(2));
        beat.set_draining(Below(20) == 0);
        beat.set_leaving(Below(30) == 0);
        beat.mutable_load()->set_capacity(Below(3) * 100);
        beat.mutable_load()->set_owing_fraction(1);
        Effects effects = h_.Apply(beat);
        for (const v1::Task& task : TasksIn(std::get<v1::HeartbeatReply>(effects.reply))) tasks_[task.id()] = task;
        break;
      }
      case 4:
      case 5:
        Report();
        break;
      case 6:
        h_.Apply(SubmitOf(SimpleSpec(AnyJob(), Below(4) == 0 ? 20 : 10), Below(6) == 0));
        break;
      case 7: {
        if (Below(8) != 0) break;
        v1::CancelRequest cancel;
        cancel.set_job(AnyJob());
        h_.Apply(cancel);
        break;
      }
      case 8: {
        const uint32_t world = Below(2) == 0 ? 1 : 2;
        Effects effects = h_.Apply(SessionOn(AnyJob(), Below(3), world, 10 * Below(2)));
        if (!effects.status.ok()) break;
        const auto& opened = std::get<v1::OpenSessionReply>(effects.reply);
        sessions_.push_back(opened.session_id());
        if (!opened.session_id().empty()) opened_ = opened;
        break;
      }
      case 9: {
        v1::ReportSessionRequest report;
        report.set_session_id(AnySession());
        if (Below(3) == 0) report.add_failed_workers(AnyWorker());
        h_.Apply(report);
        Judge();
        v1::ReportRecordsRequest found;
        found.set_worker_id(AnyWorker());
        found.set_incarnation(1 + Below(2));
        const std::string job = AnyJob();
        v1::JobRecords* const of = found.add_jobs();
        of->set_job(job);
        of->set_job_uid(h_.state->FindJob(job).value_or(v1::Job()).uid());
        if (Below(10) == 0) of->add_bad()->set_record(random_());
        if (Below(10) == 0) of->add_bad()->set_record(Below(200));
        h_.Apply(found);
        break;
      }
      case 10: {
        v1::CloseSessionRequest close;
        close.set_session_id(AnySession());
        h_.Apply(close);
        break;
      }
      case 11: {
        if (Below(10) == 0) {
          v1::DrainRequest drain;
          drain.set_worker(AnyWorker());
          h_.Apply(drain);
        }
        if (Below(60) == 0) h_.Restart();
        break;
      }
      default:
        h_.now += Below(20) == 0 ? 4 * kSecond : kSecond / (1 + Below(20));
        h_.Apply(Tick());
    }
  }

  // A reader asks about records that workers reject, or decided one itself.
  void Judge() {
    v1::JudgeRecordsRequest request;
    request.set_session_id(opened_.session_id());
    request.set_job_uid(opened_.job().record().uid());
    for (int i = 0; i < 3; ++i) request.add_records(Below(200));
    if (Below(5) == 0) request.add_decided()->set_record(Below(200));
    h_.Apply(request);
  }

  v1::ReportTaskRequest ChecksOf(const std::string& worker, const v1::Task& task) {
    v1::ReportTaskRequest report;
    report.set_worker_id(worker);
    report.set_task_id(task.id());
    for (const uint64_t record : task.check().records()) {
      if (Below(30) == 0) continue;
      v1::RecordCheck* check = report.add_checks();
      check->set_record(record);
      check->set_copy(Below(20) == 0 ? static_cast<v1::RecordCheck::Copy>(Below(5)) : v1::RecordCheck::DAMAGED);
    }
    return report;
  }

  void Report() {
    if (tasks_.empty()) return;
    auto it = tasks_.begin();
    std::advance(it, Below(static_cast<int>(tasks_.size())));
    const v1::Task task = it->second;
    if (Below(4) != 0) tasks_.erase(it);
    if (Below(8) == 0) {
      h_.Report(h_.Failure(AnyWorker(), task, "made to fail", Below(3) != 0));
      return;
    }
    const std::string worker = AnyWorker();
    const v1::ReportTaskReply reply = task.has_check() ? h_.Report(ChecksOf(worker, task)) : h_.Finish(worker, task);
    for (const v1::Task& next : TasksIn(reply)) tasks_[next.id()] = next;
  }

  std::string AnySession() { return sessions_.empty() ? "none" : sessions_[random_() % sessions_.size()]; }

  // The jobs as a new watcher of all jobs receives them.
  std::vector<net::WatchedJob> AllWatched() const {
    net::JobMirror fresh("");
    const auto reply = h_.state->Watch(fresh.NextRequest(0));
    return fresh.Apply(reply.value().value()).value().jobs;
  }

  // The next tick sends decisions to watchers.
  static void DecisionsAgree(const net::WatchedJob& watched, const net::WatchedJob& all) {
    if (watched.decided == nullptr) return;
    ASSERT_NE(all.decided, nullptr);
    ASSERT_LE(watched.decided->size(), all.decided->size());
    ASSERT_TRUE(std::equal(watched.decided->begin(), watched.decided->end(), all.decided->begin()));
  }

  // The reply to OpenSession contains the job too. It may arrive after answers that were made later.
  void OpensAndAnswersComeLate(Watcher* watcher) {
    if (watcher->late.has_value() && Below(4) == 0) {
      const v1::OpenSessionReply late = *std::exchange(watcher->late, std::nullopt);
      // An answer of another submission or coordinator may not fit. The watcher then requests everything again.
      watcher->mirror.Apply(late.job(), late.revision()).status().IgnoreError();
    } else if (!watcher->late.has_value() && Below(10) == 0) {
      v1::OpenSessionRequest open = SessionOn(watcher->job);
      *open.mutable_held() = watcher->mirror.Held(watcher->job);
      Effects effects = h_.Apply(open);
      if (effects.status.ok()) watcher->late = std::get<v1::OpenSessionReply>(effects.reply);
    }
  }

  // These watchers ask only sometimes, and may lose the coordinator or an answer. They must know the same as a watcher
  // that requests everything.
  void WatchersKnowWhatIs() {
    for (Watcher& watcher : watchers_) {
      net::JobMirror& mirror = watcher.mirror;
      if (Below(30) == 0) mirror.Lost();  // it may ask again only later
      if (!watcher.job.empty()) OpensAndAnswersComeLate(&watcher);
      if (Below(3) != 0) continue;
      if (Below(20) == 0) {
        h_.state->Watch(mirror.NextRequest(0)).status().IgnoreError();  // the answer is lost
        mirror.Lost();
      }
      for (;;) {
        const auto reply = h_.state->Watch(mirror.NextRequest(0));
        if (absl::IsNotFound(reply.status())) break;
        ASSERT_TRUE(reply.ok());
        if (!reply->has_value()) break;
        const auto changes = mirror.Apply(**reply);
        ASSERT_TRUE(changes.ok()) << changes.status();
        deltas_ += (*reply)->jobs_size() > 0 && (*reply)->jobs(0).view_deltas_size() > 0;
        if (mirror.revision() == h_.state->revision()) break;
      }
      for (const net::WatchedJob& whole : AllWatched()) {
        const v1::Job job = net::ToJob(whole);
        if (!watcher.job.empty() && watcher.job != job.name()) continue;
        const net::WatchedJob* known = mirror.Find(job.name());
        ASSERT_NE(known, nullptr);
        ASSERT_NO_FATAL_FAILURE(DecisionsAgree(*known, whole));
        v1::Job mine = net::ToJob(*known);
        if (job.state() != v1::READY) mine.clear_view();  // the watcher may keep the last view of an ended job
        mine.set_shards_indexed(job.shards_indexed());    // sent with the next tick
        ASSERT_EQ(mine.SerializeAsString(), job.SerializeAsString()) << job.name();
      }
    }
  }

  void Check() {
    ASSERT_NO_FATAL_FAILURE(WatchersKnowWhatIs());
    ASSERT_GE(h_.state->revision(), revision_);
    revision_ = h_.state->revision();
    std::map<std::string, v1::WorkerStatus::State> workers;
    bool any_live = false;
    const v1::StatusReply status = h_.state->Status(h_.now);
    for (const v1::WorkerStatus& worker : status.workers()) {
      workers[worker.id()] = worker.state();
      any_live |= worker.state() == v1::WorkerStatus::LIVE;
    }
    for (const net::WatchedJob& whole : AllWatched()) {
      const v1::Job job = net::ToJob(whole);
      ASSERT_NO_FATAL_FAILURE(DecisionsStay(whole));
      ASSERT_NE(job.state(), v1::JOB_STATE_UNSPECIFIED);
      ASSERT_EQ(job.state() == v1::FAILED, !job.error().empty()) << job.error();
      if (job.state() != v1::READY || !job.has_view()) continue;
      // A partition of the key space, with different owner and backup if there are several workers.
      const auto view = net::FromProto(job.view());
      ASSERT_TRUE(view.ok()) << view.status();
      ASSERT_EQ(view->key_space, StateHarness::kShards * StateHarness::kRecords);
      ASSERT_FALSE(view->ranges.empty());
      // Numbers grow, and one number stands for one view.
      const auto number = std::pair(job.view().term(), job.view().number());
      auto& last = views_[{job.name(), job.uid()}];
      ASSERT_GE(number, last.first);
      if (number == last.first) {
        ASSERT_EQ(job.view().SerializeAsString(), last.second);
      }
      last = {number, job.view().SerializeAsString()};
      // Owners are live. Without live workers the last view stays.
      if (!any_live) continue;
      for (const plan::ViewRange& range : view->ranges) {
        ASSERT_EQ(workers[view->workers[range.owner].id], v1::WorkerStatus::LIVE);
        ASSERT_EQ(workers[view->workers[range.backup].id], v1::WorkerStatus::LIVE);
      }
    }
  }

  // A READY submission never loses a decision.
  void DecisionsStay(const net::WatchedJob& job) {
    if (job.record.state() != v1::READY) return;
    const std::vector<uint64_t> now = job.decided == nullptr ? std::vector<uint64_t>() : *job.decided;
    std::vector<uint64_t>& before = decided_[job.record.uid()];
    ASSERT_GE(now.size(), before.size());
    ASSERT_TRUE(std::equal(before.begin(), before.end(), now.begin()));
    decisions_ += static_cast<int>(now.size() - before.size());
    before = now;
  }

  // Live workers that do their tasks finish every job.
  void EndsWell() {
    h_.Apply(WorkerCalled("w0", 9));
    h_.Apply(WorkerCalled("w1", 9));
    for (int i = 0; i < 400 * 4; ++i) {  // longer than the longest readmission
      h_.now += kSecond / 4;
      for (const char* id : {"w0", "w1"}) {
        for (const v1::Task& task : TasksIn(h_.Do<v1::HeartbeatReply>(BeatOf(id, 9)))) h_.Finish(id, task);
      }
      h_.Apply(Tick());
    }
    Check();
    const v1::StatusReply status = h_.state->Status(h_.now);
    for (const auto& job : status.jobs()) {
      EXPECT_NE(job.state(), v1::PREPARING) << job.name() << " " << job.waiting();
      if (job.state() == v1::READY) {
        EXPECT_GT(job.view_number(), 0u);
      }
      EXPECT_EQ(job.waiting(), "");
    }
  }

  std::mt19937 random_;
  StateHarness h_;
  std::vector<Watcher> watchers_{{""}, {""}, {""}, {""}, {"j0"}, {"j1"}, {"j2"}};
  int deltas_ = 0;
  int decisions_ = 0;
  std::map<uint64_t, std::vector<uint64_t>> decided_;  // by submission
  std::map<uint64_t, v1::Task> tasks_;
  std::vector<std::string> sessions_;
  v1::OpenSessionReply opened_;  // the last reply
  uint64_t revision_ = 0;
  std::map<std::pair<std::string, uint64_t>, std::pair<std::pair<uint64_t, uint64_t>, std::string>> views_;
};

// 1 to `usual`, or the seeds "FIRST-LAST" of PENSTOCK_PROPERTY_SEEDS.
std::pair<uint32_t, uint32_t> Seeds(uint32_t usual) {
  const char* const wanted = std::getenv("PENSTOCK_PROPERTY_SEEDS");
  unsigned first = 1, last = usual;
  if (wanted != nullptr && std::sscanf(wanted, "%u-%u", &first, &last) != 2) ADD_FAILURE() << wanted;
  return {first, last};
}

TEST(CoordinatorStateProperty, InvariantsHoldUnderAnyEvents) {
  int deltas = 0, decisions = 0;
  const auto [first, last] = Seeds(60);
  for (uint32_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun run(seed);
    run.Go(600);
    if (HasFatalFailure()) return;
    deltas += run.deltas();
    decisions += run.decisions();
  }
  EXPECT_GT(deltas, 20);
  EXPECT_GT(decisions, 10);
}

}  // namespace
}  // namespace penstock::coordinator
