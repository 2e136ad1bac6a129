// Watchers' knowledge: updates in any order, and deltas from any base.
#include "net/job_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "net/view_delta.h"
#include "tests/support/job_parts.h"

namespace penstock::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::View ViewOf(uint64_t number, const std::vector<std::string>& workers, uint64_t ranges) {
  v1::View view;
  view.set_term(1);
  view.set_number(number);
  view.set_policy(v1::BY_RECORD);
  view.set_key_space(ranges * 10);
  for (const std::string& id : workers) {
    v1::View::Worker* worker = view.add_workers();
    worker->set_id(id);
    worker->set_address(id + ":7071");
  }
  for (uint64_t i = 0; i < ranges; ++i) {
    v1::View::Range* range = view.add_ranges();
    range->set_begin(i * 10);
    range->set_end(i * 10 + 10);
    range->set_owner(static_cast<uint32_t>(i % workers.size()));
    range->set_backup(static_cast<uint32_t>((i + 1) % workers.size()));
  }
  return view;
}

v1::JobUpdate ReadyJob(const std::string& name, uint64_t revision, uint64_t metadata_id) {
  v1::Job job;
  job.set_name(name);
  job.set_uid(1);
  job.set_state(v1::READY);
  job.set_revision(revision);
  job.mutable_spec()->set_name(name);
  job.mutable_snapshot()->set_fingerprint(metadata_id * 100);
  return support::UpdateOf(job, metadata_id);
}

v1::WatchReply ReplyWith(uint64_t revision, const v1::JobUpdate& update) {
  v1::WatchReply reply;
  reply.set_revision(revision);
  *reply.add_jobs() = update;
  return reply;
}

TEST(ViewDelta, LeadsFromAnyViewToAnyOther) {
  std::mt19937 random(7);
  const auto below = [&](uint64_t n) { return random() % n; };
  const auto any_view = [&](uint64_t number) {
    v1::View view;
    view.set_term(1);
    view.set_number(number);
    view.set_key_space(1000);
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      if (below(3) == 0) continue;
      v1::View::Worker* worker = view.add_workers();
      worker->set_id(id);
      worker->set_address(below(5) == 0 ? "moved:1" : std::string(id) + ":1");
    }
    if (view.workers().empty()) return view;
    for (uint64_t begin = 0; begin < 1000;) {
      v1::View::Range* range = view.add_ranges();
      range->set_begin(begin);
      begin = std::min<uint64_t>(1000, begin + 100 * (1 + below(3)));
      range->set_end(begin);
      range->set_owner(static_cast<uint32_t>(below(static_cast<uint64_t>(view.workers_size()))));
      range->set_backup(static_cast<uint32_t>(below(static_cast<uint64_t>(view.workers_size()))));
    }
    return view;
  };
  for (int i = 0; i < 2000; ++i) {
    const v1::View before = any_view(1), after = any_view(2);
    const auto made = ApplyDelta(before, DeltaBetween(before, after));
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_EQ(made->SerializeAsString(), after.SerializeAsString());
  }
}

TEST(ViewDelta, IsSmallWhereLittleChanges) {
  std::vector<std::string> workers;
  for (int i = 0; i < 500; ++i) workers.push_back("worker-" + std::to_string(i));
  const v1::View before = ViewOf(1, workers, 1000);
  v1::View after = before;
  after.set_number(2);
  after.mutable_ranges(400)->set_owner(7);
  EXPECT_LT(DeltaBetween(before, after).ByteSizeLong(), 100u);
  // A worker that leaves shifts the numbers of all later ones.
  v1::View gone = after;
  gone.mutable_workers()->DeleteSubrange(3, 1);
  for (v1::View::Range& range : *gone.mutable_ranges()) {
    range.set_owner(range.owner() == 3 ? 9 : range.owner() - (range.owner() > 3));
    range.set_backup(range.backup() == 3 ? 9 : range.backup() - (range.backup() > 3));
  }
  EXPECT_LT(DeltaBetween(after, gone).ByteSizeLong(), 200u);
}

TEST(ViewDelta, OfAnotherViewOrWithPlacesThatAreNotThereIsRefused) {
  const v1::View before = ViewOf(1, {"a", "b"}, 4);
  v1::ViewDelta good = DeltaBetween(before, ViewOf(2, {"b", "a"}, 4));
  v1::ViewDelta other = good;
  other.set_base_number(3);
  EXPECT_EQ(ApplyDelta(before, other).status().code(), absl::StatusCode::kFailedPrecondition);
  // A few bytes that would grow without bound, and indices that wrap around.
  const auto refused = [&](uint32_t from, uint32_t count) {
    v1::ViewDelta workers = good;
    v1::ViewDelta::WorkerPiece* worker = workers.add_workers();
    worker->set_from(from);
    worker->set_count(count);
    v1::ViewDelta ranges = DeltaBetween(before, before);
    v1::ViewDelta::RangePiece* range = ranges.add_ranges();
    range->set_from(from);
    range->set_count(count);
    return ApplyDelta(before, workers).status().code() == absl::StatusCode::kInvalidArgument &&
           ApplyDelta(before, ranges).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(0, 1));
  EXPECT_TRUE(refused(0, UINT32_MAX));
  EXPECT_TRUE(refused(UINT32_MAX, UINT32_MAX));
  EXPECT_TRUE(refused(4, 1));
  EXPECT_TRUE(refused(UINT32_MAX, 2));
  v1::ViewDelta orphan;
  orphan.set_base_term(1);
  orphan.set_base_number(1);
  orphan.add_ranges()->set_count(1);
  EXPECT_EQ(ApplyDelta(before, orphan).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(JobMirror, KeepsWhatAnUpdateDoesNotSay) {
  JobMirror mirror("train");
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = ViewOf(1, {"a", "b"}, 4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  v1::JobUpdate news;
  *news.mutable_record() = whole.record();
  news.mutable_record()->set_waiting("no worker is live");
  const v1::View next = ViewOf(2, {"b"}, 4);
  *news.add_view_deltas() = DeltaBetween(whole.view(), next);
  const auto changes = mirror.Apply(ReplyWith(6, news));
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_EQ(changes->jobs.size(), 1u);
  const v1::Job job = ToJob(changes->jobs[0]);
  EXPECT_EQ(job.waiting(), "no worker is live");
  EXPECT_EQ(job.snapshot().fingerprint(), 900u);
  EXPECT_EQ(job.view().SerializeAsString(), next.SerializeAsString());
  EXPECT_EQ(mirror.NextRequest(7).known_revision(), 6u);
  EXPECT_EQ(mirror.NextRequest(7).base_revision(), 6u);
  EXPECT_TRUE(mirror.NextRequest(7).held().empty());
}

TEST(JobMirror, SaysWhatItHoldsWhenTheCoordinatorIsLost) {
  JobMirror mirror;
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = ViewOf(3, {"a", "b"}, 4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  mirror.LetMetadataGo("train");
  EXPECT_EQ(mirror.Find("train")->metadata, nullptr);
  mirror.Lost();
  const v1::WatchRequest request = mirror.NextRequest(1);
  EXPECT_EQ(request.known_revision(), 0u);
  ASSERT_EQ(request.held_size(), 1);
  EXPECT_EQ(request.held(0).name(), "train");
  EXPECT_EQ(request.held(0).metadata_id(), 9u);
  EXPECT_EQ(request.held(0).view_number(), 3u);
  // The next coordinator relies on it.
  v1::JobUpdate same = whole;
  same.clear_metadata();
  same.clear_view();
  EXPECT_TRUE(mirror.Apply(ReplyWith(1, same)).ok());
  EXPECT_NE(mirror.Find("train")->view, nullptr);
}

TEST(JobMirror, AnAnswerInPartsIsBuiltOnWhatWasThereBefore) {
  JobMirror mirror;
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, ReadyJob("a", 5, 9))).ok());
  v1::WatchReply part = ReplyWith(7, ReadyJob("b", 7, 9));
  part.set_more(true);
  ASSERT_TRUE(mirror.Apply(part).ok());
  EXPECT_EQ(mirror.NextRequest(1).known_revision(), 7u);
  EXPECT_EQ(mirror.NextRequest(1).base_revision(), 5u);
  ASSERT_TRUE(mirror.Apply(ReplyWith(8, ReadyJob("c", 8, 9))).ok());
  EXPECT_EQ(mirror.NextRequest(1).base_revision(), 8u);
}

TEST(JobMirror, AnotherSubmissionOfTheNameInheritsNothing) {
  JobMirror mirror;
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = ViewOf(3, {"a"}, 4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  v1::JobUpdate again;
  again.mutable_record()->set_name("train");
  again.mutable_record()->set_uid(2);
  again.mutable_record()->set_state(v1::PREPARING);
  const auto changes = mirror.Apply(ReplyWith(6, again));
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(changes->jobs[0].metadata, nullptr);
  EXPECT_EQ(changes->jobs[0].view, nullptr);
}

TEST(JobMirror, WhatDoesNotFitIsNamedAndAskedForAnew) {
  JobMirror mirror;
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = ViewOf(3, {"a", "b"}, 4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  v1::JobUpdate wrong;
  *wrong.mutable_record() = whole.record();
  *wrong.add_view_deltas() = DeltaBetween(ViewOf(8, {"a"}, 4), ViewOf(9, {"b"}, 4));
  const auto refused = mirror.Apply(ReplyWith(6, wrong));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("job train"));
  const v1::WatchRequest next = mirror.NextRequest(1);
  EXPECT_EQ(next.known_revision(), 0u);
  EXPECT_EQ(next.held(0).metadata_id(), 9u);  // the request does not reset these
  EXPECT_EQ(next.held(0).view_number(), 0u);

  v1::JobUpdate bare = ReadyJob("train", 7, 10);
  bare.clear_metadata();
  EXPECT_EQ(mirror.Apply(ReplyWith(7, bare)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(mirror.NextRequest(1).held().empty());
  EXPECT_TRUE(mirror.Apply(ReplyWith(7, ReadyJob("train", 7, 10))).ok());
}

TEST(JobMirror, MetadataChangesWithItsIdIfAnUpdateDoesNotFit) {
  JobMirror mirror;
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = ViewOf(3, {"a", "b"}, 4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  // New metadata, and a step from a view that the mirror does not have.
  v1::JobUpdate wrong = ReadyJob("train", 6, 10);
  *wrong.add_view_deltas() = DeltaBetween(ViewOf(8, {"a"}, 4), ViewOf(9, {"b"}, 4));
  ASSERT_FALSE(mirror.Apply(ReplyWith(6, wrong)).ok());
  ASSERT_EQ(mirror.Held("train").metadata_id(), 10u);
  // The coordinator relies on that id and sends no metadata.
  v1::JobUpdate rest = ReadyJob("train", 7, 10);
  rest.clear_metadata();
  *rest.mutable_view() = ViewOf(9, {"b"}, 4);
  const auto changes = mirror.Apply(ReplyWith(7, rest));
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_NE(changes->jobs.at(0).metadata, nullptr);
  EXPECT_EQ(changes->jobs.at(0).metadata->snapshot().fingerprint(), 1000u);

  // Without the new metadata, the mirror has none.
  v1::JobUpdate bare = ReadyJob("train", 8, 11);
  bare.clear_metadata();
  ASSERT_FALSE(mirror.Apply(ReplyWith(8, bare)).ok());
  EXPECT_EQ(mirror.Find("train")->metadata, nullptr);
}

TEST(JobMirror, HoldsNoPartOfAnotherSubmissionWhoseUpdateDoesNotFit) {
  JobMirror mirror;
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = ViewOf(3, {"a", "b"}, 4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  v1::JobUpdate wrong = ReadyJob("train", 6, 10);
  wrong.mutable_record()->set_uid(2);
  *wrong.add_view_deltas() = DeltaBetween(ViewOf(8, {"a"}, 4), ViewOf(9, {"b"}, 4));
  ASSERT_FALSE(mirror.Apply(ReplyWith(6, wrong)).ok());
  EXPECT_EQ(mirror.Held("train").metadata_id(), 0u);
  EXPECT_EQ(mirror.Held("train").view_number(), 0u);
  EXPECT_EQ(mirror.Find("train")->metadata, nullptr);
  EXPECT_TRUE(mirror.Apply(ReplyWith(6, ReadyJob("train", 6, 10))).ok());
}

TEST(JobMirror, StepsThatItHasTakenAreSkipped) {
  JobMirror mirror;
  const v1::View one = ViewOf(1, {"a"}, 4), two = ViewOf(2, {"a", "b"}, 4), three = ViewOf(3, {"b"}, 4);
  v1::JobUpdate whole = ReadyJob("train", 5, 9);
  *whole.mutable_view() = two;
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, whole)).ok());
  v1::JobUpdate steps;
  *steps.mutable_record() = whole.record();
  *steps.add_view_deltas() = DeltaBetween(one, two);
  *steps.add_view_deltas() = DeltaBetween(two, three);
  ASSERT_TRUE(mirror.Apply(ReplyWith(6, steps)).ok());
  EXPECT_EQ(mirror.Find("train")->view->SerializeAsString(), three.SerializeAsString());
}

TEST(JobMirror, OfOneJobHearsOfNoOther) {
  JobMirror mirror("train");
  const auto changes = mirror.Apply(ReplyWith(5, ReadyJob("eval", 5, 9)));
  ASSERT_TRUE(changes.ok());
  EXPECT_TRUE(changes->jobs.empty());
  EXPECT_EQ(mirror.Apply(ReadyJob("eval", 5, 9), 5).status().code(), absl::StatusCode::kInvalidArgument);
}

// The answer that opens a session contains the job too. A watch's answer may overtake it.
TEST(JobMirror, AnOlderAnswerThatComesLateChangesNothing) {
  JobMirror mirror("train");
  v1::JobUpdate old = ReadyJob("train", 5, 9), now = ReadyJob("train", 8, 9);
  *old.mutable_view() = ViewOf(1, {"a"}, 4);
  *now.mutable_view() = ViewOf(2, {"b"}, 4);
  now.mutable_record()->set_waiting("no worker is live");
  ASSERT_TRUE(mirror.Apply(ReplyWith(8, now)).ok());
  const auto late = mirror.Apply(old, 5);
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_EQ(late->view->number(), 2u);
  EXPECT_EQ(mirror.Find("train")->view->number(), 2u);
  EXPECT_EQ(mirror.Find("train")->record.waiting(), "no worker is live");
  // The next coordinator's revisions are larger.
  v1::JobUpdate restarted = ReadyJob("train", (uint64_t{2} << 32) + 1, 9);
  *restarted.mutable_view() = ViewOf(1, {"a"}, 4);
  restarted.mutable_view()->set_term(2);
  ASSERT_TRUE(mirror.Apply(restarted, (uint64_t{2} << 32) + 1).ok());
  EXPECT_EQ(mirror.Find("train")->view->term(), 2u);
  ASSERT_TRUE(mirror.Apply(now, 8).ok());  // from the earlier coordinator
  EXPECT_EQ(mirror.Find("train")->view->term(), 2u);
  // Another submission of a coordinator that started again.
  v1::JobUpdate other = ReadyJob("train", 3, 11);
  other.mutable_record()->set_uid(77);
  ASSERT_TRUE(mirror.Apply(other, 3).ok());
  EXPECT_EQ(mirror.Find("train")->record.uid(), 77u);
}

v1::JobUpdate WithDecided(v1::JobUpdate update, uint64_t total, uint64_t begin, const std::vector<uint64_t>& records) {
  update.mutable_record()->set_decided_records(total);
  update.mutable_decided()->set_begin(begin);
  update.mutable_decided()->mutable_records()->Add(records.begin(), records.end());
  return update;
}

TEST(JobMirror, AddsDecidedRecordsInTheirOrderAndKeepsThoseItHas) {
  JobMirror mirror("train");
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, ReadyJob("train", 5, 9))).ok());
  EXPECT_EQ(mirror.Find("train")->decided, nullptr);
  v1::JobUpdate news = ReadyJob("train", 6, 9);
  news.clear_metadata();
  const auto changes = mirror.Apply(ReplyWith(6, WithDecided(news, 2, 0, {17, 4})));
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_NE(changes->jobs[0].decided, nullptr);
  EXPECT_THAT(*changes->jobs[0].decided, ElementsAre(17, 4));
  EXPECT_EQ(mirror.Held("train").decided_records(), 2u);
  ASSERT_TRUE(mirror.Apply(ReplyWith(7, WithDecided(news, 3, 2, {9}))).ok());
  EXPECT_THAT(*mirror.Find("train")->decided, ElementsAre(17, 4, 9));
  // Another answer repeats some of its records.
  ASSERT_TRUE(mirror.Apply(ReplyWith(8, WithDecided(news, 4, 1, {4, 9, 1}))).ok());
  EXPECT_THAT(*mirror.Find("train")->decided, ElementsAre(17, 4, 9, 1));
  // An update of other fields leaves the decisions unchanged.
  news.mutable_record()->set_decided_records(4);
  ASSERT_TRUE(mirror.Apply(ReplyWith(9, news)).ok());
  EXPECT_THAT(*mirror.Find("train")->decided, ElementsAre(17, 4, 9, 1));
  // The request to the next coordinator contains their number.
  mirror.Lost();
  EXPECT_EQ(mirror.NextRequest(1).held(0).decided_records(), 4u);
}

TEST(JobMirror, AsksAnewForDecidedRecordsThatAreMissing) {
  JobMirror mirror("train");
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, WithDecided(ReadyJob("train", 5, 9), 1, 0, {17}))).ok());
  v1::JobUpdate news = ReadyJob("train", 6, 9);
  news.clear_metadata();
  const auto refused = mirror.Apply(ReplyWith(6, WithDecided(news, 4, 3, {9})));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("job train"));
  const v1::WatchRequest next = mirror.NextRequest(1);
  EXPECT_EQ(next.known_revision(), 0u);
  EXPECT_EQ(next.held(0).metadata_id(), 9u);
  EXPECT_EQ(next.held(0).decided_records(), 0u);
  ASSERT_TRUE(mirror.Apply(ReplyWith(6, WithDecided(news, 2, 0, {17, 9}))).ok());
  EXPECT_THAT(*mirror.Find("train")->decided, ElementsAre(17, 9));
}

TEST(JobMirror, AnotherSubmissionHasNoneOfTheDecidedRecords) {
  JobMirror mirror("train");
  ASSERT_TRUE(mirror.Apply(ReplyWith(5, WithDecided(ReadyJob("train", 5, 9), 1, 0, {17}))).ok());
  v1::JobUpdate other = ReadyJob("train", 6, 10);
  other.mutable_record()->set_uid(2);
  ASSERT_TRUE(mirror.Apply(ReplyWith(6, other)).ok());
  EXPECT_EQ(mirror.Find("train")->decided, nullptr);
}

}  // namespace
}  // namespace penstock::net
