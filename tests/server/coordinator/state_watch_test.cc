// The updates that watchers receive, and their parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "net/job_mirror.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using Code = absl::StatusCode;

TEST(CoordinatorWatch, WatchersReceiveManyLargeJobsInSeveralAnswers) {
  StateOptions options;
  options.max_watch_bytes = 1;
  StateHarness h(options);
  for (const char* name : {"c", "a", "b"}) h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec(name)));
  std::vector<std::string> names;
  v1::WatchRequest watch;
  while (true) {
    const auto reply = h.state->Watch(watch);
    ASSERT_TRUE(reply.ok());
    if (!reply->has_value()) break;
    for (const v1::JobUpdate& job : (*reply)->jobs()) names.push_back(job.record().name());
    ASSERT_GT((*reply)->revision(), watch.known_revision());
    watch.set_known_revision((*reply)->revision());
  }
  EXPECT_THAT(names, ::testing::ElementsAre("c", "a", "b"));
}

TEST(CoordinatorWatch, AJobsMetadataIsSentOnceAndItsViewAsChanges) {
  StateHarness h;
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) h.Register(id);
  net::JobMirror watched("train");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  const auto ask = [&] {
    const auto reply = h.state->Watch(watched.NextRequest(0));
    EXPECT_TRUE(reply.ok() && reply->has_value());
    EXPECT_TRUE(watched.Apply(**reply).ok());
    return (*reply)->jobs(0);
  };
  EXPECT_FALSE(ask().has_metadata());  // no metadata before the job is READY
  h.Work({"a", "b", "c", "d", "e", "f"});
  v1::JobUpdate update = ask();
  EXPECT_TRUE(update.has_metadata());
  EXPECT_TRUE(update.has_view());
  EXPECT_EQ(update.metadata().snapshot().shards_size(), StateHarness::kShards);
  for (uint64_t incarnation = 2; incarnation < 5; ++incarnation) {
    v1::RegisterWorkerRequest moved = WorkerCalled("a", incarnation);
    moved.set_address("host-" + std::to_string(incarnation) + ":1");
    h.Do<v1::RegisterWorkerReply>(moved);
    update = ask();
    EXPECT_FALSE(update.has_metadata());
    EXPECT_FALSE(update.has_view());
    EXPECT_EQ(update.view_deltas_size(), 1);
  }
  EXPECT_EQ(net::ToJob(*watched.Find("train")).SerializeAsString(), h.Job("train").SerializeAsString());
  // After a restart the watcher also reports the parts that it holds, and the coordinator does not send them again.
  h.Restart();
  watched.Lost();
  update = ask();
  EXPECT_FALSE(update.has_metadata());
  EXPECT_FALSE(update.has_view());
  // A watcher whose view is too old receives the whole view.
  net::JobMirror late("train");
  v1::HeldJob held = watched.Held("train");
  held.set_view_number(1);
  held.set_view_term(1);
  v1::WatchRequest request = late.NextRequest(0);
  *request.add_held() = held;
  const auto reply = h.state->Watch(request);
  EXPECT_TRUE((*reply)->jobs(0).has_view());
  EXPECT_FALSE((*reply)->jobs(0).has_metadata());
}

TEST(CoordinatorWatch, AnAnswerInPartsLeavesNoWatcherWithoutMetadata) {
  StateOptions options;
  options.max_watch_bytes = 1;
  StateHarness h(options);
  h.Register("a");
  for (const char* name : {"one", "two", "three"}) h.Prepare(name, {"a"});
  net::JobMirror watched;
  // All jobs change after the first part.
  for (int part = 0;; ++part) {
    const auto reply = h.state->Watch(watched.NextRequest(0));
    ASSERT_TRUE(reply.ok());
    if (!reply->has_value()) break;
    const auto changes = watched.Apply(**reply);
    ASSERT_TRUE(changes.ok()) << changes.status();
    if (part == 0) {
      EXPECT_TRUE((*reply)->more());
      h.Register("b");
    }
  }
  for (const char* name : {"one", "two", "three"}) {
    EXPECT_EQ(net::ToJob(*watched.Find(name)).SerializeAsString(), h.Job(name).SerializeAsString());
  }
}

TEST(CoordinatorWatch, NewsNameTheChangedJobsAndWorkers) {
  StateHarness h;
  h.Register("a");
  h.Prepare("one", {"a"});
  h.Prepare("two", {"a"});
  h.Apply(Tick());  // sends the progress so far
  h.state->TakeNews();
  h.Beat("a");
  h.Apply(Tick());
  EXPECT_TRUE(h.state->TakeNews().jobs.empty());
  v1::CancelRequest cancel;
  cancel.set_job("two");
  h.Do<v1::CancelReply>(cancel);
  const CoordinatorState::News news = h.state->TakeNews();
  EXPECT_EQ(news.jobs, std::set<std::string>{"two"});
  EXPECT_FALSE(news.workers);
}

TEST(CoordinatorWatch, FinishedJobsAreRemovedForNewOnesAndWatchersLearnOfIt) {
  StateOptions options;
  options.max_jobs = 2;
  StateHarness h(options);
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("one")));
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("two")));
  EXPECT_EQ(h.StatusOf(SubmitOf(SimpleSpec("three"))).code(), Code::kResourceExhausted);
  v1::CancelRequest cancel;
  cancel.set_job("one");
  h.Do<v1::CancelReply>(cancel);
  v1::WatchRequest watch;
  watch.set_known_revision(h.state->revision());
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("three")));
  for (const char* job : {"", "one"}) {
    watch.set_job(job);
    const auto reply = h.state->Watch(watch);
    ASSERT_TRUE(reply.ok() && reply->has_value());
    ASSERT_EQ((*reply)->removed_size(), 1);
    EXPECT_EQ((*reply)->removed(0), "one");
  }
  watch.set_job("never");
  EXPECT_EQ(h.state->Watch(watch).status().code(), Code::kNotFound);
}

TEST(CoordinatorWatch, ARevisionOfAnotherCoordinatorCountsAsUnknown) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  v1::WatchRequest watch;
  watch.set_known_revision(UINT64_MAX);
  const auto reply = h.state->Watch(watch);
  ASSERT_TRUE(reply.ok() && reply->has_value());
  EXPECT_EQ((*reply)->jobs_size(), 1);
}

// A repeated submission of a name is another job, even with the same content and with numbers that start again.
TEST(CoordinatorWatch, AWatcherOfAnEarlierSubmissionReceivesTheWholeNewOne) {
  StateHarness h;
  h.Register("a");
  const v1::Job first = h.Prepare("train", {"a"});
  net::JobMirror watched("train");
  ASSERT_TRUE(watched.Apply(h.state->Watch(watched.NextRequest(0))->value()).ok());
  watched.Lost();
  v1::CancelRequest cancel;
  cancel.set_job("train");
  h.Do<v1::CancelReply>(cancel);
  const v1::Job again = h.Prepare("train", {"a"});
  ASSERT_NE(first.uid(), again.uid());
  ASSERT_EQ(first.snapshot().SerializeAsString(), again.snapshot().SerializeAsString());
  const auto changes = watched.Apply(h.state->Watch(watched.NextRequest(0))->value());
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_EQ(net::ToJob(*watched.Find("train")).SerializeAsString(), again.SerializeAsString());
}

}  // namespace
}  // namespace penstock::coordinator
