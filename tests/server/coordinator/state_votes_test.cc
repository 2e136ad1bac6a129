// Readers vote against workers that they cannot use: which workers leave the view, and how they return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using State = v1::WorkerStatus;
using Ids = std::set<std::string>;

// Opens a session of its own process on job "train".
std::string OpenIn(StateHarness* h, uint64_t process) {
  v1::OpenSessionRequest open = SessionOn("train");
  open.set_process(process);
  return h->Do<v1::OpenSessionReply>(open).session_id();
}

TEST(CoordinatorVotes, AWorkerIsRemovedByMostOfItsProcessesAndReturnsWhenSteady) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  std::vector<std::string> sessions;
  for (uint64_t process = 1; process <= 4; ++process) sessions.push_back(OpenIn(&h, process));
  Complain(&h, sessions[0], "a");
  Complain(&h, sessions[1], "a");
  Complain(&h, sessions[1], "a");
  Complain(&h, sessions[1], "nobody");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  Complain(&h, sessions[2], "a");
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
  EXPECT_THAT(h.Worker("a").note(), HasSubstr("lost 0 s ago: unreachable or restarted"));
  EXPECT_THAT(h.Worker("a").note(), HasSubstr("it serves again in 2 s if its heartbeats continue"));
  EXPECT_THAT(h.Worker("a").note(), HasSubstr("once in the last 5 minutes"));
  h.Pass(kSecond, {"a", "b"});
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
  h.Pass(2 * kSecond, {"a", "b"});
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  EXPECT_EQ(h.Worker("a").note(), "");
  // A worker that was removed repeatedly must be steady for longer, but at most a minute.
  const auto out = [&] {
    // Sessions expire meanwhile, and new ones replace them.
    for (uint64_t process = 1; process <= 4; ++process) sessions.push_back(OpenIn(&h, process));
    for (const std::string& session : sessions) Complain(&h, session, "a");
    EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
    Nanos time = 0;
    for (; h.Worker("a").state() == State::SUSPECT && time < 600 * kSecond; time += kSecond / 4) {
      h.Pass(kSecond / 4, {"a", "b"});
    }
    return time;
  };
  EXPECT_LE(out(), 3 * kSecond);
  EXPECT_LE(out(), 5 * kSecond);
  EXPECT_GT(out(), 7 * kSecond);
  EXPECT_GT(out(), 15 * kSecond);
  EXPECT_GT(out(), 30 * kSecond);
  EXPECT_GT(out(), 59 * kSecond);
  EXPECT_LE(out(), 61 * kSecond);
  EXPECT_THAT(h.Worker("a").note(), "");
  h.Pass(301 * kSecond, {"a", "b"});
  EXPECT_LE(out(), 3 * kSecond) << "forgiven";
}

TEST(CoordinatorVotes, ASuspectThatMissesHeartbeatsDoesNotReturn) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  Complain(&h, h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id(), "a");
  h.Pass(2500 * kMillisecond, {"b"});
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT) << "two seconds have passed, but without a heartbeat";
  h.Pass(1500 * kMillisecond, {"a", "b"});
  EXPECT_EQ(h.Worker("a").state(), State::SUSPECT);
  h.Pass(kSecond, {"a", "b"});
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
}

// With more than a hundred processes each one reports every 1.5 s, and its first report comes up to a quarter later.
TEST(CoordinatorVotes, ASuspectInALargeFleetReturnsIfItBeatsAtItsRequestedTimes) {
  StateHarness h;
  std::vector<std::string> ids;
  for (int i = 0; i < 101; ++i) ids.push_back("w" + std::to_string(i));
  for (const std::string& id : ids) h.Register(id);
  h.Prepare("train", ids);
  std::map<std::string, Nanos> due;
  for (const std::string& id : ids) due[id] = h.now;
  const auto session = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id();
  Complain(&h, session, "w7");
  EXPECT_EQ(h.Worker("w7").state(), State::SUSPECT);
  Nanos most = 0;
  for (const Nanos end = h.now + 6 * kSecond; h.now < end; h.now += 25 * kMillisecond) {
    h.Apply(Tick());
    for (auto& [id, at] : due) {
      if (h.now < at) continue;
      const Nanos told = h.Beat(id).next_beat_ms() * kMillisecond;
      most = std::max(most, told);
      at = h.now + told;
    }
  }
  EXPECT_GT(most, kSecond);
  EXPECT_LE(most, 1875 * kMillisecond);
  for (const std::string& id : ids) EXPECT_EQ(h.Worker(id).state(), State::LIVE) << id;
}

TEST(CoordinatorVotes, VotesAgainstAWorkerExpire) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  const auto one = OpenIn(&h, 1);
  const auto two = OpenIn(&h, 2);
  Complain(&h, one, "a");
  h.Pass(11 * kSecond, {"a", "b"});
  Complain(&h, two, "a");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
}

TEST(CoordinatorVotes, VotesNeverRemoveTheOnlyWorkerOfAJob) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  Complain(&h, h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id(), "a");
  EXPECT_EQ(h.Worker("a").state(), State::LIVE);
}

TEST(CoordinatorVotes, AProcessHasOneVoteForAllItsSessions) {
  StateHarness h;
  for (const char* id : {"a", "b", "c"}) h.Register(id);
  h.Prepare("train", {"a", "b", "c"});
  OpenIn(&h, 1);  // a trainer that continues to read
  std::vector<std::string> others;
  for (int i = 0; i < 3; ++i) others.push_back(OpenIn(&h, 2));
  for (int round = 0; round < 3; ++round) {
    for (const std::string& session : others) {
      for (const char* worker : {"a", "b"}) Complain(&h, session, worker);
    }
    h.Pass(kSecond, {"a", "b", "c"});
    EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b", "c"}));
  }
}

// A trainer that claims to be many processes.
TEST(CoordinatorVotes, ANameHasOneVoteForAllItsProcesses) {
  StateHarness h;
  for (const char* id : {"a", "b"}) h.Register(id);
  h.Prepare("train", {"a", "b"});
  h.caller = transport::Peer::Network("10.0.0.7:1");
  const auto open_as = [&h](const std::string& name, uint64_t process) {
    h.caller.name = name;
    return OpenIn(&h, process);
  };
  open_as("alice", 1);
  for (uint64_t process = 100; process < 300; ++process) Complain(&h, open_as("liar", process), "a");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"}));
  const std::string bobs = open_as("bob", 2), other = open_as("bob", 3);
  Complain(&h, bobs, "a");
  EXPECT_EQ(h.OwnersOf("train"), (Ids{"a", "b"})) << "half of the processes of a name are not most of them";
  Complain(&h, other, "a");
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
}

TEST(CoordinatorVotes, VotesRemoveAtMostHalfOfTheWorkers) {
  StateHarness h;
  const std::vector<std::string> ids = {"a", "b", "c", "d", "e"};
  for (const std::string& id : ids) h.Register(id);
  h.Prepare("train", ids);
  const std::string session = OpenIn(&h, 1);
  for (int round = 0; round < 3; ++round) {
    for (const std::string& id : ids) Complain(&h, session, id);
    size_t live = 0;
    for (const std::string& id : ids) live += h.Worker(id).state() == State::LIVE ? 1 : 0;
    EXPECT_EQ(live, 3u);
  }
  // The next workers may leave after the first have returned.
  h.Pass(4 * kSecond, ids);
  EXPECT_EQ(h.OwnersOf("train").size(), 5u);
}

TEST(CoordinatorVotes, VotesRemoveAtMostHalfOfTheWorkersOfAJob) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  for (const char* id : {"x", "y", "z"}) {
    v1::RegisterWorkerRequest other = WorkerCalled(id);
    other.set_roots(0, "elsewhere");
    h.Do<v1::RegisterWorkerReply>(other);
  }
  h.Prepare("train", {"a", "b"});
  const std::string session = OpenIn(&h, 1);
  Complain(&h, session, "a");
  Complain(&h, session, "b");
  EXPECT_EQ(h.OwnersOf("train"), Ids{"b"});
}

TEST(CoordinatorVotes, SessionsVoteOnlyOnWorkersThatServeThem) {
  StateHarness h;
  for (const char* id : {"a", "b", "c", "d"}) h.Register(id);
  v1::JobSpec spec = SimpleSpec("train");
  spec.mutable_assignment()->set_policy(v1::BY_RANK);
  h.Do<v1::SubmitReply>(SubmitOf(spec));
  h.Work({"a", "b", "c", "d"});
  const v1::View view = h.Job("train").view();
  const std::string first = view.workers(view.ranges(0).owner()).id();
  const std::string last = view.workers(view.ranges(view.ranges_size() - 1).owner()).id();
  ASSERT_NE(first, last);
  std::vector<std::string> sessions;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    v1::OpenSessionRequest open = SessionOn("train", rank, 2);
    open.set_process(rank + 1);
    sessions.push_back(h.Do<v1::OpenSessionReply>(open).session_id());
  }
  Complain(&h, sessions[0], last);
  EXPECT_EQ(h.Worker(last).state(), State::LIVE) << "rank 0 has no rows from it";
  Complain(&h, sessions[0], first);
  EXPECT_EQ(h.Worker(first).state(), State::SUSPECT) << "rank 1 does not vote";
}

}  // namespace
}  // namespace penstock::coordinator
