// Decisions that records are bad: the coordinator stores them, publishes them, and counts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/coordinator/verdicts_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecordDecisions : public VerdictsHarness {};

TEST_F(RecordDecisions, TwoDamagedCopiesMakeOneDecisionThatIsStoredBeforeItIsPublished) {
  Start({"a", "b"});
  usual = {{"a", Check::DAMAGED}, {"b", Check::DAMAGED}};
  v1::JudgeRecordsReply reply = Judge({17});
  EXPECT_THAT(reply.bad(), IsEmpty());
  EXPECT_THAT(reply.intact(), IsEmpty());
  EXPECT_GT(reply.ask_again_ms(), 0u);
  EXPECT_EQ(Answer("a"), 1);
  EXPECT_THAT(Judge({17}).bad(), IsEmpty());
  EXPECT_THAT(Decided(), IsEmpty());
  const v1::Task task = TasksIn(h.Beat("b")).at(0);
  h.Apply(ChecksOf("b", task));
  bool stored = false;
  for (const v1::StoreEvent& fact : h.last_facts) {
    if (!fact.has_add_decisions()) continue;
    stored = true;
    EXPECT_EQ(fact.add_decisions().job(), "train");
    EXPECT_EQ(fact.add_decisions().begin(), 0u);
    ASSERT_EQ(fact.add_decisions().records_size(), 1);
    EXPECT_EQ(fact.add_decisions().records(0).record(), 17u);
    EXPECT_TRUE(fact.add_decisions().records(0).every_copy());
    EXPECT_FALSE(fact.add_decisions().records(0).by_reader());
  }
  EXPECT_TRUE(stored);
  reply = Judge({17, 18});
  EXPECT_THAT(reply.bad(), ElementsAre(17));
  EXPECT_THAT(reply.intact(), IsEmpty());
  EXPECT_THAT(Decided(), ElementsAre(17));
  const v1::QuarantineReply quarantine = Quarantine();
  EXPECT_EQ(quarantine.bad_records(), 1u);
  ASSERT_EQ(quarantine.entries_size(), 1);
  EXPECT_EQ(quarantine.entries(0).record(), 17u);
  EXPECT_EQ(quarantine.entries(0).reason(), "wrong CRC");
  EXPECT_EQ(quarantine.entries(0).message(), "the CRC of its data is wrong");
  EXPECT_EQ(quarantine.entries(0).offset(), 16 * 17u);
}

TEST_F(RecordDecisions, ARestartKeepsDecisionsAndTheirOrder) {
  Start({"a"}, v1::MASK, 1);
  usual["a"] = Check::DAMAGED;
  for (const uint64_t record : {90, 17, 150}) {
    Judge({record});
    Answer("a");
  }
  Judge({3});  // without an answer yet
  h.Apply(Tick());
  EXPECT_THAT(Decided(), ElementsAre(90, 17, 150));
  h.Restart();
  EXPECT_THAT(Decided(), ElementsAre(90, 17, 150));
  EXPECT_EQ(Quarantine().bad_records(), 3u);
  EXPECT_TRUE(Judge({17}).unknown_session());
  Open();
  EXPECT_THAT(Judge({17}).bad(), ElementsAre(17));
  Judge({3});
  Pass(kSecond, {"a"});
  EXPECT_THAT(Judge({3}).bad(), ElementsAre(3));
  h.Apply(Tick());
  EXPECT_THAT(Decided(), ElementsAre(90, 17, 150, 3));
  EXPECT_THAT(Stored(), ElementsAre(90, 17, 150, 3));
}

TEST_F(RecordDecisions, AReplacementHasNoDecisions) {
  Start({"a"});
  usual["a"] = Check::DAMAGED;
  Judge({17});
  Answer("a");
  ASSERT_THAT(Decided(), ElementsAre(17));
  Judge({18});
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"), true));
  EXPECT_THAT(Decided(), ElementsAre(17));  // until the replacement is ready
  h.Work({"a"});
  EXPECT_THAT(Decided(), IsEmpty());
  EXPECT_THAT(Stored(), IsEmpty());
  EXPECT_EQ(Quarantine().bad_records(), 0u);
  EXPECT_TRUE(Judge({18}).unknown_session());
  h.Restart();
  EXPECT_THAT(Decided(), IsEmpty());
  v1::DeleteRequest remove;
  remove.set_job("train");
  remove.set_running(true);
  h.Do<v1::DeleteReply>(remove);
  EXPECT_THAT(Stored(), IsEmpty());
}

TEST_F(RecordDecisions, WatchersReceiveTheDecisionsThatTheyLack) {
  Start({"a"}, v1::MASK, 1);
  usual["a"] = Check::DAMAGED;
  net::JobMirror watcher("train"), all("");
  const auto ask = [&](net::JobMirror* mirror) {
    const auto reply = h.state->Watch(mirror->NextRequest(0));
    EXPECT_TRUE(reply.ok() && reply->has_value());
    const auto changes = mirror->Apply(**reply);
    EXPECT_TRUE(changes.ok()) << changes.status();
    for (const v1::JobUpdate& update : (*reply)->jobs()) {
      if (update.record().name() == "train") return update;
    }
    return v1::JobUpdate();
  };
  EXPECT_FALSE(ask(&watcher).has_decided());
  ask(&all);
  uint64_t known = 0;
  for (const std::vector<uint64_t>& records : {std::vector<uint64_t>{90, 17}, {150}, {3, 4, 5}}) {
    Judge(records);
    Answer("a");
    // Another job changes before the watchers receive the decisions.
    h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("other" + std::to_string(known))));
    v1::CancelRequest cancel;
    cancel.set_job("other" + std::to_string(known));
    h.Do<v1::CancelReply>(cancel);
    EXPECT_FALSE(ask(&all).has_record());
    h.Apply(Tick());
    for (net::JobMirror* mirror : {&watcher, &all}) {
      const v1::JobUpdate update = ask(mirror);
      EXPECT_FALSE(update.has_metadata());
      EXPECT_EQ(update.decided().begin(), known);
      EXPECT_EQ(update.decided().records_size(), static_cast<int>(records.size()));
    }
    known += records.size();
    EXPECT_EQ(*watcher.Find("train")->decided, Decided());
    EXPECT_EQ(*all.Find("train")->decided, Decided());
  }
  // The next coordinator adds to the stored decisions.
  h.Restart();
  watcher.Lost();
  const v1::JobUpdate update = ask(&watcher);
  EXPECT_FALSE(update.has_metadata());
  EXPECT_FALSE(update.has_decided());
  EXPECT_THAT(*watcher.Find("train")->decided, SizeIs(6));
}

TEST_F(RecordDecisions, TheReplyThatOpensASessionContainsTheDecisions) {
  Start({"a"});
  usual["a"] = Check::DAMAGED;
  Judge({17});
  Answer("a");
  const auto reply = h.Do<v1::OpenSessionReply>(SessionOn("train"));
  EXPECT_EQ(reply.job().record().decided_records(), 1u);
  EXPECT_THAT(reply.job().decided().records(), ElementsAre(17));
}

TEST_F(RecordDecisions, ARecordIsQuarantinedOnceForSeveralReasons) {
  Start({"a"}, v1::MASK, 1);
  usual["a"] = Check::DAMAGED;
  ReportBad(17, "truncated image");
  ASSERT_EQ(Quarantine().bad_records(), 1u);
  Judge({17, 18});
  Answer("a");
  EXPECT_THAT(Judge({17, 18}).bad(), ElementsAre(17, 18));
  ReportBad(17, "truncated image");
  const v1::QuarantineReply quarantine = Quarantine();
  EXPECT_EQ(quarantine.bad_records(), 2u);
  EXPECT_EQ(quarantine.entries(0).reason(), "truncated image");
  EXPECT_EQ(quarantine.entries(1).reason(), "wrong CRC");
}

TEST_F(RecordDecisions, TooManyDecisionsFailTheJob) {
  Start({"a"}, v1::SUBSTITUTE, 0.015F);  // 2 of 200
  usual["a"] = Check::DAMAGED;
  Judge({17, 18});
  Answer("a");
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  Judge({19});
  Answer("a");
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("3 distinct records of 200 are bad (3 wrong CRC)"));
  EXPECT_THAT(Stored(), SizeIs(3));
  EXPECT_TRUE(Judge({20}).unknown_session());
}

TEST_F(RecordDecisions, UnderFailDecisionsAreQuarantinedAndDoNotFailTheJobByThemselves) {
  Start({"a"}, v1::FAIL, 0.01F);
  usual["a"] = Check::DAMAGED;
  Judge({17, 18, 19, 20});
  Answer("a");
  EXPECT_THAT(Judge({17, 18, 19, 20}).bad(), SizeIs(4));
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  EXPECT_EQ(Quarantine().bad_records(), 4u);
}

TEST_F(RecordDecisions, AReadersDecisionAppliesAtOnceAndCountsAfterAWorkersConfirmation) {
  Start({"a", "b"}, v1::MASK, 1);
  usual = {{"a", Check::INTACT}, {"b", Check::INTACT}};
  copies[{"b", 17}] = Check::DAMAGED;
  Adopt({17, 18});
  EXPECT_THAT(Judge({17, 18}).bad(), ElementsAre(17, 18));
  h.Apply(Tick());
  EXPECT_THAT(Decided(), ElementsAre(17, 18));
  const v1::StoredState stored = *h.store.Load();
  ASSERT_EQ(stored.decisions_size(), 1);
  EXPECT_TRUE(stored.decisions(0).records(0).by_reader());
  EXPECT_EQ(Quarantine().bad_records(), 0u);
  ReportBad(18, "wrong CRC");  // a report, not a confirmation
  EXPECT_EQ(Quarantine().bad_records(), 0u);
  EXPECT_EQ(Answer("a"), 2);
  EXPECT_EQ(Quarantine().bad_records(), 0u);
  EXPECT_EQ(Answer("b"), 2);
  const v1::QuarantineReply quarantine = Quarantine();
  ASSERT_EQ(quarantine.entries_size(), 1);
  EXPECT_EQ(quarantine.entries(0).record(), 17u);
  EXPECT_EQ(quarantine.entries(0).reason(), "wrong CRC");
  EXPECT_THAT(Judge({17, 18}).bad(), ElementsAre(17, 18));
  Adopt({17, 18});  // a repeated request changes nothing
  EXPECT_THAT(Stored(), ElementsAre(17, 18));
}

TEST_F(RecordDecisions, AReadersDecisionIsConfirmedAfterARestart) {
  Start({"a"});
  usual["a"] = Check::DAMAGED;
  Adopt({17});
  h.Restart();
  EXPECT_EQ(Quarantine().bad_records(), 0u);
  EXPECT_THAT(Decided(), ElementsAre(17));
  Pass(kSecond, {"a"});
  EXPECT_EQ(Quarantine().bad_records(), 1u);
  h.Restart();
  Pass(kSecond, {"a"});
  EXPECT_EQ(Quarantine().bad_records(), 1u);
  EXPECT_THAT(Stored(), ElementsAre(17));
}

}  // namespace
}  // namespace penstock::coordinator
