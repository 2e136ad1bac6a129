// The feeder according to its protocol, over real sockets and a real arena.
#include "client/feed/feeder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "pipeline/batch/batch_digest.h"
#include "tests/client/feed/trainer.h"
#include "tests/support/plain_rows.h"
#include "tests/support/test_dataset.h"

namespace penstock::feed {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class FeederTest : public ::testing::Test {
 protected:
  // 3 shards of 20 images in steps of 8: 7 steps an epoch, 4 rows dropped.
  FeederTest() : dataset_(support::MakeImageDataset({.shards = 3, .records_per_shard = 20}, folder_.path())) {}

  void Add(const GotBatch& batch, batch::BatchDigest* digest) const {
    const size_t image = 32 * 32 * 3;
    for (size_t row = 0; row < batch.rows; ++row) {
      digest->BeginRow(batch.ids[2 * row], batch.ids[2 * row + 1], batch.valid[row] != 0);
      digest->AddFixed({batch.columns[0].values + row * image, image});
      digest->AddFixed({batch.columns[1].values + row * 8, 8});
    }
  }
  std::vector<std::pair<int64_t, int64_t>> Ids(const GotBatch& batch) const {
    std::vector<std::pair<int64_t, int64_t>> ids;
    for (size_t row = 0; row < batch.rows; ++row) ids.emplace_back(batch.ids[2 * row], batch.ids[2 * row + 1]);
    return ids;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(FeederTest, BatchesEqualThoseOfThePlainLoopInEachEpoch) {
  Trainer trainer(dataset_);
  const Trainer::Loader loader = trainer.Open();
  ASSERT_EQ(loader.opened.type, 16u) << loader.opened.body;
  EXPECT_THAT(loader.opened.body, HasSubstr("\"steps_per_epoch\": 7"));
  batch::BatchDigest digest;
  for (uint64_t i = 0; i < 14; ++i) {
    Trainer::Want(loader, i, 2);
    const GotBatch batch = trainer.Next(loader);
    EXPECT_EQ(batch.sequence, i);
    EXPECT_EQ(batch.epoch, i / 7);
    EXPECT_EQ(batch.step, i % 7);
    EXPECT_EQ(batch.flags & 1u, i % 7 == 6 ? 1u : 0u);
    Add(batch, &digest);
    trainer.Release(batch);
  }
  EXPECT_EQ(digest.Hex(), support::PlainDigest(dataset_, dataset_.job, 2));
}

// The number of this process's threads whose name begins with `prefix`.
size_t ThreadsNamed(const std::string& prefix) {
  size_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    found += name.rfind(prefix, 0) == 0;
  }
  return found;
}

// Waits until this process has `count` such threads. A thread sets its name when it first runs, and stays listed for a
// moment after its end.
void AwaitThreadsNamed(const std::string& prefix, size_t count) {
  while (ThreadsNamed(prefix) != count) std::this_thread::yield();
}

TEST_F(FeederTest, ReadThreadsGiveTheSameBatches) {
  Trainer trainer(dataset_, R"({"version": 1, "read_threads": 3})");
  const Trainer::Loader loader = trainer.Open();
  ASSERT_EQ(loader.opened.type, 16u) << loader.opened.body;
  AwaitThreadsNamed("ps-read", 3);
  batch::BatchDigest digest;
  for (uint64_t i = 0; i < 7; ++i) {
    Trainer::Want(loader, i, 1);
    const GotBatch batch = trainer.Next(loader);
    Add(batch, &digest);
    trainer.Release(batch);
  }
  EXPECT_EQ(digest.Hex(), support::PlainDigest(dataset_, dataset_.job, 1));
  EXPECT_EQ(trainer.End_(), absl::OkStatus());
  AwaitThreadsNamed("ps-read", 0);
}

TEST_F(FeederTest, TooManyReadThreadsAreRejected) {
  auto [ours, theirs] = SocketPair();
  const End end(std::move(ours));
  end.Send(1, 0, R"({"version": 1, "read_threads": 513})");
  FeederOptions options;
  options.parent = getpid();
  EXPECT_THAT(std::string(Feed(*PacketSocket::Create(std::move(theirs)), options).message()),
              HasSubstr("read_threads 513: at most 512"));
  const auto error = end.Receive(5);
  ASSERT_TRUE(error.has_value());
  EXPECT_THAT(error->body, HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(FeederTest, RaggedColumnsAndStringsHaveSplits) {
  support::TempFolder folder;
  const support::TestDataset numbers = support::MakeNumberDataset({}, folder.path());
  Trainer trainer(numbers);
  const Trainer::Loader loader = trainer.Open();
  Trainer::Want(loader, 0, 1);
  const GotBatch batch = trainer.Next(loader);
  ASSERT_EQ(batch.columns.size(), 4u);
  for (size_t row = 0; row < batch.rows; ++row) {
    int64_t id = 0;
    std::memcpy(&id, batch.columns[0].values + row * 8, 8);
    const GotBatch::Column& names = batch.columns[2];
    const std::string name(names.values + names.offsets[row],
                           static_cast<size_t>(names.offsets[row + 1] - names.offsets[row]));
    EXPECT_EQ(name, absl::StrCat("record-", id));
  }
  const GotBatch::Column& values = batch.columns[1];
  EXPECT_EQ(values.splits[batch.rows] * 4, static_cast<int64_t>(values.bytes));
  EXPECT_EQ(values.elements * 4, values.bytes);
}

// Rows would arrive with this column empty in each of them.
TEST_F(FeederTest, AMissingKeyIsRejectedUnlessAllowed) {
  support::TempFolder folder;
  support::TestDataset numbers = support::MakeNumberDataset({}, folder.path());
  numbers.job.mutable_features(1)->set_key("vales");
  numbers.job.mutable_features(1)->set_column("values");
  ASSERT_TRUE(numbers.job.features(1).variable_length());
  Trainer trainer(numbers);
  const Trainer::Loader meant = trainer.Open(R"(, "allow_missing": true)");
  EXPECT_EQ(meant.opened.type, 16u) << meant.opened.body;
  const Trainer::Loader refused = trainer.Open();  // although the other loader has the job open
  EXPECT_THAT(refused.opened.body, HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(refused.opened.body, HasSubstr("features[1].key: none of the first"));
  EXPECT_THAT(refused.opened.body, HasSubstr("did you mean 'values'?"));
}

TEST_F(FeederTest, AStateContinuesInAnotherFeederAndAfterASeek) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> whole;
  std::string state;
  {
    Trainer trainer(dataset_);
    const Trainer::Loader loader = trainer.Open();
    for (uint64_t i = 0; i < 10; ++i) {
      Trainer::Want(loader, i, 1);
      const GotBatch batch = trainer.Next(loader);
      whole.push_back(Ids(batch));
      if (i == 3) state = batch.state;
      trainer.Release(batch);
    }
  }
  Trainer trainer(dataset_);
  Trainer::Loader loader = trainer.Open(absl::StrCat(", \"state\": \"", state, "\""));
  ASSERT_EQ(loader.opened.type, 16u) << loader.opened.body;
  for (uint64_t i = 0; i < 3; ++i) {
    Trainer::Want(loader, i, 1);
    EXPECT_EQ(Ids(trainer.Next(loader)), whole[4 + i]);
  }
  loader.stream = 2;
  loader.end->Send(19, 2, absl::StrCat("{\"accepted\": 3, \"epoch\": 1}"));
  const auto sought = loader.end->Receive(20);
  ASSERT_TRUE(sought.has_value());
  EXPECT_THAT(sought->body, HasSubstr("\"epoch\": 1"));
  Trainer::Want(loader, 0, 1);
  EXPECT_EQ(Ids(trainer.Next(loader)), whole[7]);
}

TEST_F(FeederTest, LostBatchesAreSentAgainUnchanged) {
  Trainer trainer(dataset_);
  const Trainer::Loader loader = trainer.Open();
  Trainer::Want(loader, 0, 3);
  const GotBatch first = trainer.Next(loader);
  const GotBatch second = trainer.Next(loader);
  const GotBatch third = trainer.Next(loader);
  Trainer::Want(loader, 1, 2, 1);
  const GotBatch second_again = trainer.Next(loader);
  const GotBatch third_again = trainer.Next(loader);
  EXPECT_EQ(second_again.slot, second.slot);
  EXPECT_EQ(second_again.generation, second.generation);
  EXPECT_EQ(third_again.sequence, third.sequence);
  EXPECT_NE(first.slot, second.slot);
}

TEST_F(FeederTest, AHeldBatchStaysUnchangedAndALateReleaseHasNoEffect) {
  Trainer trainer(dataset_);
  const Trainer::Loader loader = trainer.Open();
  Trainer::Want(loader, 0, 1);
  const GotBatch held = trainer.Next(loader);
  const std::string pixels(held.columns[0].values, held.columns[0].bytes);
  Trainer::Want(loader, 1, 1);
  GotBatch other = trainer.Next(loader);
  trainer.Release(other);
  for (uint64_t i = 2; i < 60; ++i) {
    Trainer::Want(loader, i, 1);
    const GotBatch batch = trainer.Next(loader);
    EXPECT_NE(batch.slot, held.slot);
    trainer.Release(batch);
    trainer.Release(batch);  // a second time
    trainer.Release(other);  // released long ago
  }
  EXPECT_EQ(std::string(held.columns[0].values, held.columns[0].bytes), pixels);
}

TEST_F(FeederTest, ATrainerThatHoldsAllMemoryGetsAnErrorAndContinuesAfterARelease) {
  support::TempFolder folder;
  support::TestDataset large =
      support::MakeImageDataset({.shards = 2, .records_per_shard = 30, .crop = 224}, folder.path());
  large.job.mutable_batch()->set_size(10);  // 1.5 MB per batch
  Trainer trainer(large, R"({"version": 1, "memory": 16777216})");
  const Trainer::Loader loader = trainer.Open();
  std::vector<GotBatch> held;
  std::string told;
  for (uint64_t i = 0; i < 64 && told.empty(); ++i) {
    Trainer::Want(loader, i, 1);
    for (;;) {
      const auto packet = loader.end->Receive();
      ASSERT_TRUE(packet.has_value());
      if (packet->type == 18) held.push_back(trainer.Parse(*packet));
      if (packet->type == 21) told = packet->body;
      if (packet->type == 18 || packet->type == 21) break;
    }
  }
  EXPECT_GE(held.size(), 5u);
  EXPECT_THAT(told, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(told, HasSubstr(absl::StrCat("holds ", held.size(), " batches")));
  EXPECT_THAT(told, HasSubstr(" of the 16777216 bytes that `memory` allows are in use"));
  EXPECT_THAT(told, ContainsRegex("a batch needs 15[0-9]{5} bytes more"));
  const auto expected_next = held.size();
  for (const GotBatch& batch : held) trainer.Release(batch);
  Trainer::Want(loader, expected_next, 1, 1);
  EXPECT_EQ(trainer.Next(loader).sequence, expected_next);
}

TEST_F(FeederTest, WarningsAboutTheEpochsFollowOpenedForOneRank) {
  Trainer trainer(dataset_, R"({"version": 1})", [](const v1::Batch& batch, uint64_t rows) {
    return std::vector<std::string>{absl::StrCat(batch.size(), " ", v1::LastBatch_Name(batch.last()), " ", rows)};
  });
  const Trainer::Loader loader = trainer.Open();
  ASSERT_EQ(loader.opened.type, 16u) << loader.opened.body;
  const auto notice = loader.end->Receive();
  ASSERT_TRUE(notice.has_value());
  EXPECT_EQ(notice->type, 24u);
  EXPECT_THAT(notice->body, HasSubstr(absl::StrCat("job '", dataset_.job.name(), "': 8 DROP 60")));
  const Trainer::Loader other = trainer.Open(R"(, "rank": 1, "world_size": 2)");
  Trainer::Want(other, 0, 1);
  EXPECT_EQ(trainer.Next(other).sequence, 0u);  // the first packet after OPENED
}

TEST_F(FeederTest, AnIdleLoaderHoldsNoMemoryAndContinuesAtItsPlace) {
  Trainer trainer(dataset_);
  const Trainer::Loader loader = trainer.Open();
  Trainer::Want(loader, 0, 1);
  const GotBatch first = trainer.Next(loader);
  trainer.Release(first);
  const auto used = [&] {
    loader.end->Send(22, 0, R"({"what": "stats"})");
    const auto answer = loader.end->Receive(23);
    const size_t at = answer->body.find("\"arena_used_bytes\": ");
    return std::strtoull(answer->body.c_str() + at + 20, nullptr, 10);
  };
  uint64_t bytes = UINT64_MAX;
  for (int i = 0; i < 100 && bytes > 0; ++i) {
    (void)loader.end->Silent(100);
    bytes = used();
  }
  EXPECT_EQ(bytes, 0u);
  Trainer::Want(loader, 1, 1);
  const GotBatch second = trainer.Next(loader);
  EXPECT_EQ(second.step, 1u);
  EXPECT_EQ(second.position, 8u);
}

TEST_F(FeederTest, AnOpenErrorIsSentOnTheLoadersSocket) {
  Trainer trainer(dataset_);
  const Trainer::Loader many = trainer.Open(", \"rank\": 3, \"world_size\": 2");
  EXPECT_EQ(many.opened.type, 21u);
  EXPECT_THAT(many.opened.body, HasSubstr("rank 3"));
  const Trainer::Loader odd = trainer.Open(", \"world_size\": 3");
  EXPECT_THAT(odd.opened.body, HasSubstr("cannot be divided"));
  const Trainer::Loader both = trainer.Open(", \"job\": \"x\"");
  EXPECT_THAT(both.opened.body, HasSubstr("one of"));
  const Trainer::Loader good = trainer.Open();  // the failed ones affect no other loader
  EXPECT_EQ(good.opened.type, 16u);
}

TEST_F(FeederTest, AViolationOfTheProtocolIsReportedAndEndsTheFeeder) {
  const std::vector<std::pair<uint32_t, std::string>> packets = {
      {99, ""}, {4, "123"}, {3, "{}"}, {3, "{\"jobb\": \"x\"}"}, {1, "{\"version\": 1}"}, {3, "no json"}};
  for (const auto& [type, body] : packets) {
    SCOPED_TRACE(absl::StrCat(type, " ", body));
    Trainer trainer(dataset_);
    trainer.main().Send(type, 0, body);
    const auto error = trainer.main().Receive();
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->type, 5u);
    EXPECT_FALSE(trainer.End_().ok());
  }
  for (const std::string hello : {"{\"version\": 2}", "{\"version\": 1, \"memroy\": 5}", "x"}) {
    Trainer trainer(dataset_, hello);
    EXPECT_EQ(trainer.arena_bytes(), 0u);
    EXPECT_FALSE(trainer.End_().ok()) << hello;
  }
}

TEST_F(FeederTest, LoadersOfManyThreadsAndRanksShareOneFeeder) {
  Trainer trainer(dataset_);
  std::vector<Trainer::Loader> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(trainer.Open(absl::StrCat(", \"rank\": ", rank, ", \"world_size\": 4")));
    ASSERT_EQ(ranks.back().opened.type, 16u) << ranks.back().opened.body;
  }
  std::set<std::pair<int64_t, int64_t>> seen;
  for (uint64_t i = 0; i < 7; ++i) {
    for (const Trainer::Loader& rank : ranks) {
      Trainer::Want(rank, i, 1);
      const GotBatch batch = trainer.Next(rank);
      EXPECT_EQ(batch.rows, 2u);
      for (const auto& id : Ids(batch)) EXPECT_TRUE(seen.insert(id).second);
      trainer.Release(batch);
    }
  }
  EXPECT_EQ(seen.size(), 56u);
}

TEST_F(FeederTest, TheFeederEndsSoonAfterItsTrainer) {
  for (int i = 0; i < 10; ++i) {
    Trainer trainer(dataset_);
    const Trainer::Loader loader = trainer.Open();
    Trainer::Want(loader, 0, 64);
    EXPECT_TRUE(trainer.End_().ok());
  }
}

}  // namespace
}  // namespace penstock::feed
