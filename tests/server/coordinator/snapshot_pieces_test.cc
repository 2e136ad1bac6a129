// Snapshots in pieces: what a store keeps of them, and the bytes that a change of a job writes.
#include "server/coordinator/snapshot_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/thread_pool.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/store/sqlite_store.h"
#include "tests/server/coordinator/job_specs.h"
#include "tests/support/commit_facts.h"
#include "tests/support/temp_folder.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr int kManyShards = 100'000;

std::string RandomBytes(size_t count) {
  std::mt19937_64 random(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

struct Pieces {
  explicit Pieces(std::string_view wire) {
    for (SnapshotPiece& piece : CutIntoPieces(wire)) {
      names.push_back(piece.name);
      EXPECT_LE(piece.data.size(), SnapshotPiece::kMostBytes);
      data[piece.name] = std::move(piece.data);
    }
  }
  absl::StatusOr<std::string> Join() const {
    return JoinPieces(names, [this](const std::string& name) {
      const auto found = data.find(name);
      return found == data.end() ? nullptr : &found->second;
    });
  }
  std::vector<std::string> names;
  std::map<std::string, std::string> data;
};

TEST(SnapshotPieces, JoinToTheSameBytesAndStayBelowTheirLimit) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1'000'000}, size_t{3'500'000}}) {
    const std::string wire = RandomBytes(bytes);
    EXPECT_EQ(Pieces(wire).Join().value_or("none"), wire) << bytes;
  }
}

TEST(SnapshotPieces, EqualPartsAreEqualPieces) {
  const std::string wire = RandomBytes(2'500'000);
  const Pieces whole(wire), longer(wire + "more"), again(wire);
  ASSERT_EQ(whole.names.size(), 3u);
  EXPECT_EQ(whole.names, again.names);
  EXPECT_EQ(whole.names[1], longer.names[1]);
  EXPECT_NE(whole.names[2], longer.names[2]);
}

TEST(SnapshotPieces, AMissingOrDamagedPieceIsNamed) {
  Pieces pieces(RandomBytes(2'000'000));
  std::string& second = pieces.data.at(pieces.names[1]);
  const std::string sound = second;
  second = pieces.data.at(pieces.names[0]);
  EXPECT_EQ(pieces.Join().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(pieces.Join().status().message()), HasSubstr(pieces.names[1] + " is damaged"));
  second = sound.substr(0, sound.size() / 2);
  EXPECT_THAT(std::string(pieces.Join().status().message()), HasSubstr(pieces.names[1] + " is damaged"));
  pieces.data.erase(pieces.names[1]);
  EXPECT_THAT(std::string(pieces.Join().status().message()), HasSubstr(pieces.names[1] + " is missing"));
}

// Facts of a READY job with this many shards.
std::vector<v1::StoreEvent> LargeJob(const std::string& name, uint64_t uid) {
  v1::Snapshot snapshot;
  std::mt19937_64 random(uid);
  for (int i = 0; i < kManyShards; ++i) {
    v1::Shard* shard = snapshot.add_shards();
    shard->set_root("data");
    shard->set_path(absl::StrCat(name, "/part-", absl::Dec(i, absl::kZeroPad6), ".tfrecord"));
    shard->set_size(random() % 1'000'000);
    shard->set_records(100);
    shard->set_content_hash(random());
    shard->set_data_bytes(shard->size());
    shard->set_max_record_bytes(1000);
  }
  std::vector<v1::StoreEvent> facts;
  v1::StoredJob job;
  *job.mutable_job()->mutable_spec() = SimpleSpec(name);
  job.mutable_job()->set_name(name);
  job.mutable_job()->set_uid(uid);
  job.mutable_job()->set_state(v1::READY);
  job.mutable_job()->set_shards_total(kManyShards);
  for (SnapshotPiece& piece : CutIntoPieces(snapshot.SerializeAsString())) {
    v1::StoredPiece* put = facts.emplace_back().mutable_put_piece();
    put->set_name(piece.name);
    put->set_data(std::move(piece.data));
    job.add_pieces(std::move(piece.name));
  }
  *facts.emplace_back().mutable_put_job() = std::move(job);
  return facts;
}

TEST(SnapshotPieces, CancellingOneOfTwoLargeJobsWritesAtMost64KiB) {
  support::TempFolder folder;
  const std::string path = folder.File("coordinator.db");
  ThreadPool disk(1, "store");
  auto store = OpenSqliteStore(path, &disk);
  ASSERT_TRUE(store.ok()) << store.status();
  uint64_t revision = 0;
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(support::CommitFacts(store->get(), LargeJob(name, revision + 1), revision).kind, CommitOutcome::kStored);
    ++revision;
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  ASSERT_EQ(std::filesystem::file_size(path + "-wal"), 0u);

  auto state = CoordinatorState::Restore({}, 0, 2, *(*store)->Load());
  ASSERT_TRUE(state.ok()) << state.status();
  v1::CancelRequest cancel;
  cancel.set_job("a");
  Effects effects = state->Apply({kSecond, cancel});
  ASSERT_EQ(effects.changes.size(), 1u);
  size_t bytes = 0;
  for (const v1::StoreEvent& fact : effects.changes[0].facts) bytes += fact.ByteSizeLong();
  EXPECT_LE(bytes, 65536u);
  ASSERT_EQ(support::CommitFacts(store->get(), effects.changes[0].facts, revision).kind, CommitOutcome::kStored);
  EXPECT_GT(std::filesystem::file_size(path + "-wal"), 0u);
  EXPECT_LE(std::filesystem::file_size(path + "-wal"), 65536u);
  // The cancelled job keeps its shards.
  const auto again = CoordinatorState::Restore({}, 0, 3, *(*store)->Load());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->FindJob("a")->state(), v1::CANCELLED);
  EXPECT_EQ(again->FindJob("a")->snapshot().shards_size(), kManyShards);
  disk.Stop();
}

}  // namespace
}  // namespace penstock::coordinator
