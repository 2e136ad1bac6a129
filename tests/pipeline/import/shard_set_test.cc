#include "pipeline/import/shard_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "pipeline/import/shard_cutter.h"
#include "pipeline/import/shard_folder.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/import/import_testing.h"

namespace penstock::imports {
namespace {

using ::testing::HasSubstr;

// Item i becomes "item i" and i % 50 more bytes.
class FakeSource final : public RecordSource {
 public:
  explicit FakeSource(uint64_t count) : count_(count) {}

  uint64_t size() const override { return count_; }
  uint64_t fingerprint() const override { return content; }
  std::unique_ptr<RecordMaker> NewMaker() const override { return std::make_unique<Maker>(*this); }

  static std::string Record(uint64_t item) { return absl::StrCat("item ", item, std::string(item % 50, '.')); }

  std::set<uint64_t> bad;          // items that cannot be made
  uint64_t machine_fails_at = ~0;  // the item at which the machine fails
  uint64_t content = 1;

 private:
  class Maker final : public RecordMaker {
   public:
    explicit Maker(const FakeSource& source) : source_(source) {}
    absl::Status Make(uint64_t item, MadeRecord* out) override {
      if (item == source_.machine_fails_at) return absl::UnavailableError("the disk does not answer");
      if (source_.bad.count(item) > 0) return absl::DataLossError(absl::StrCat("item ", item, " is torn"));
      out->bytes = Record(item);
      out->treatment = static_cast<ImageTreatment>(item % 3);
      return absl::OkStatus();
    }
    const FakeSource& source_;
  };
  const uint64_t count_;
};

ShardSetOptions Options(const TempDir& dir, const std::string& name, int threads = 2) {
  ShardSetOptions options;
  options.folder = dir.File(name);
  options.shard_bytes = 1000;
  options.threads = threads;
  options.arguments = {{"quality", "90"}};
  return options;
}

void ExpectOk(const absl::StatusOr<ShardSetResult>& result) { ASSERT_TRUE(result.ok()) << result.status(); }

TEST(ShardSet, HoldsEveryRecordOnceInOrder) {
  TempDir dir;
  FakeSource source(200);
  const auto result = WriteShards(storage::LocalFiles(), source, Options(dir, "out"));
  ExpectOk(result);
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < 200; ++i) expected.push_back(FakeSource::Record(i));
  EXPECT_EQ(RecordsOf(dir.File("out")), expected);
  EXPECT_EQ(result->state.Records(), 200u);
  EXPECT_TRUE(result->state.complete);
  EXPECT_EQ(result->resumed_shards, 0u);
  uint64_t kept = 0;
  for (const FinishedShard& shard : result->state.shards) {
    EXPECT_EQ(std::filesystem::file_size(dir.File("out/" + shard.name)), shard.bytes);
    EXPECT_LE(shard.bytes, 1000u);
    kept += shard.treated[0];
  }
  EXPECT_EQ(kept, 67u);
}

TEST(ShardSet, ShufflesByTheSeedWithoutLosingARecord) {
  TempDir dir;
  FakeSource source(100);
  ShardSetOptions options = Options(dir, "out");
  options.shuffle = true;
  options.seed = 5;
  ExpectOk(WriteShards(storage::LocalFiles(), source, options));
  std::vector<std::string> records = RecordsOf(dir.File("out")), sorted, expected;
  for (uint64_t i = 0; i < 100; ++i) expected.push_back(FakeSource::Record(i));
  EXPECT_NE(records, expected);
  sorted = records;
  std::sort(sorted.begin(), sorted.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(sorted, expected);
  options.folder = dir.File("other");
  options.seed = 6;
  ExpectOk(WriteShards(storage::LocalFiles(), source, options));
  EXPECT_NE(RecordsOf(dir.File("other")), records);
}

TEST(ShardSet, IsTheSameWithAnyNumberOfThreadsAndAnyWindow) {
  TempDir dir;
  FakeSource source(300);
  source.bad = {7, 150, 299};
  for (const int threads : {1, 3, 8}) {
    ShardSetOptions options = Options(dir, absl::StrCat("out", threads), threads);
    options.shuffle = true;
    options.skip_bad = true;
    options.window_bytes = threads == 8 ? 1 : 1 << 20;  // 1 byte is one record at a time
    ExpectOk(WriteShards(storage::LocalFiles(), source, options));
  }
  EXPECT_GT(FilesOf(dir.File("out1")).size(), 5u);
  EXPECT_EQ(FilesOf(dir.File("out1")), FilesOf(dir.File("out3")));
  EXPECT_EQ(FilesOf(dir.File("out1")), FilesOf(dir.File("out8")));
}

TEST(ShardSet, AStoppedRunResumesToTheSameFiles) {
  TempDir dir;
  FakeSource whole(80);
  ExpectOk(WriteShards(storage::LocalFiles(), whole, Options(dir, "whole")));
  const auto expected = FilesOf(dir.File("whole"));
  for (uint64_t stop = 0; stop < 80; stop += 7) {
    const std::string name = absl::StrCat("stopped", stop);
    FakeSource failing(80);
    failing.machine_fails_at = stop;
    const auto first = WriteShards(storage::LocalFiles(), failing, Options(dir, name));
    ASSERT_FALSE(first.ok());
    EXPECT_THAT(std::string(first.status().message()), HasSubstr("the disk does not answer"));
    const uint64_t finished = std::filesystem::exists(dir.File(name)) ? FilesOf(dir.File(name)).size() : 0;
    // A kill may also leave the temporary file of a shard, and a shard that already has its name but is not in the
    // state.
    if (finished > 0) {
      dir.Write(name + "/.data-00009.tfrecord.penstock-tmp.a1B2c3", "half");
      dir.Write(name + "/" + ShardName("data", finished), "not noted");
    }
    const auto second = WriteShards(storage::LocalFiles(), whole, Options(dir, name, 3));
    ExpectOk(second);
    EXPECT_EQ(second->resumed_shards, finished);
    EXPECT_EQ(FilesOf(dir.File(name)), expected) << stop;
  }
}

TEST(ShardSet, ACompleteFolderIsLeftUnchanged) {
  TempDir dir;
  FakeSource source(50);
  ExpectOk(WriteShards(storage::LocalFiles(), source, Options(dir, "out")));
  const auto before = FilesOf(dir.File("out"));
  const auto again = WriteShards(storage::LocalFiles(), source, Options(dir, "out"));
  ExpectOk(again);
  EXPECT_EQ(again->resumed_shards, before.size());
  EXPECT_EQ(FilesOf(dir.File("out")), before);
}

TEST(ShardSet, OtherArgumentsAreRejectedByName) {
  TempDir dir;
  FakeSource source(50);
  source.machine_fails_at = 40;
  ASSERT_FALSE(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).ok());
  source.machine_fails_at = ~0;
  const auto expect_refused = [&](const ShardSetOptions& options, const std::string& what) {
    const auto refused = WriteShards(storage::LocalFiles(), source, options);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(what));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("another --out"));
  };
  ShardSetOptions other = Options(dir, "out");
  other.arguments = {{"quality", "80"}};
  expect_refused(other, "quality: then '90', now '80'");
  other = Options(dir, "out");
  other.shard_bytes = 999;
  expect_refused(other, "shard-size: then '1000', now '999'");
  other = Options(dir, "out");
  other.shuffle = true;
  expect_refused(other, "order");
  source.content = 2;
  expect_refused(Options(dir, "out"), "content");
  source.content = 1;
  ExpectOk(WriteShards(storage::LocalFiles(), source, Options(dir, "out")));
}

TEST(ShardSet, AFolderWithOtherFilesIsNotTouched) {
  TempDir dir;
  dir.Write("out/mine.txt", "dear");
  FakeSource source(50);
  const auto refused = WriteShards(storage::LocalFiles(), source, Options(dir, "out"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("'mine.txt'"));
  EXPECT_EQ(FilesOf(dir.File("out")).size(), 1u);
}

TEST(ShardSet, ReportsMissingAndChangedShards) {
  TempDir dir;
  FakeSource source(50);
  ExpectOk(WriteShards(storage::LocalFiles(), source, Options(dir, "out")));
  std::filesystem::resize_file(dir.File("out/data-00001.tfrecord"), 10);
  EXPECT_THAT(std::string(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).status().message()),
              HasSubstr("has 10 bytes"));
  std::filesystem::remove(dir.File("out/data-00001.tfrecord"));
  EXPECT_THAT(std::string(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).status().message()),
              HasSubstr("is gone"));
}

TEST(ShardSet, ReportsADamagedState) {
  TempDir dir;
  FakeSource source(50);
  ExpectOk(WriteShards(storage::LocalFiles(), source, Options(dir, "out")));
  dir.Write("out/.penstock-shards", "penstock-shards 1\nshard x\n");
  EXPECT_THAT(std::string(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).status().message()),
              HasSubstr("is damaged"));
}

TEST(ShardSet, OnlyOneRunAtATimeMayWriteIntoAFolder) {
  TempDir dir;
  const auto held = ShardFolder::Open(storage::LocalFiles(), dir.File("out"), {});
  ASSERT_TRUE(held.ok()) << held.status();
  FakeSource source(5);
  EXPECT_EQ(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(ShardSet, TheFirstBadItemInOrderEndsTheRun) {
  TempDir dir;
  FakeSource source(100);
  source.bad = {60, 70};
  const auto failed = WriteShards(storage::LocalFiles(), source, Options(dir, "out", 4));
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("item 60 is torn"));
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("--skip-bad"));
  EXPECT_GT(FilesOf(dir.File("out")).size(), 0u);
  // The finished shards hold no bad item, so the run may continue and skip bad ones.
  ShardSetOptions skipping = Options(dir, "out");
  skipping.skip_bad = true;
  const auto done = WriteShards(storage::LocalFiles(), source, skipping);
  ExpectOk(done);
  EXPECT_GT(done->resumed_shards, 0u);
  EXPECT_EQ(done->state.Records(), 98u);
  EXPECT_THAT(done->state.skipped, ::testing::ElementsAre("item 60 is torn", "item 70 is torn"));
}

TEST(ShardSet, ARunThatFailsAtOnceLeavesNothing) {
  TempDir dir;
  FakeSource source(10);
  source.bad = {0};
  EXPECT_FALSE(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).ok());
  EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
  std::filesystem::create_directory(dir.File("out"));
  EXPECT_FALSE(WriteShards(storage::LocalFiles(), source, Options(dir, "out")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir.File("out")));
}

// A run may be killed after a shard has its name and before the state has the shard. The next run may fail at once.
TEST(ShardFolder, KeepsItsStateBesideAShardThatTheStateLacks) {
  TempDir dir;
  const std::vector<std::pair<std::string, std::string>> arguments = {{"quality", "90"}};
  const auto open = [&] { return ShardFolder::Open(storage::LocalFiles(), dir.File("out"), arguments); };
  ASSERT_TRUE(open().ok());  // killed
  ASSERT_TRUE(WriteFileAtomically(dir.File("out/data-00000.tfrecord"), "a shard").ok());
  const absl::Status failed = absl::UnavailableError("the disk does not answer");
  {
    const auto folder = open();
    ASSERT_TRUE(folder.ok()) << folder.status();
    EXPECT_EQ((*folder)->Abandon(failed), failed);
  }
  const auto folder = open();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_TRUE((*folder)->state().shards.empty());
  // Without the shard, nothing is left.
  ASSERT_TRUE(std::filesystem::remove(dir.File("out/data-00000.tfrecord")));
  EXPECT_EQ((*folder)->Abandon(failed), failed);
  EXPECT_TRUE(std::filesystem::is_empty(dir.File("out")));
}

TEST(ShardSet, ARunWithOnlyBadItemsFails) {
  TempDir dir;
  FakeSource source(3);
  source.bad = {0, 1, 2};
  ShardSetOptions options = Options(dir, "out");
  options.skip_bad = true;
  EXPECT_THAT(std::string(WriteShards(storage::LocalFiles(), source, options).status().message()),
              HasSubstr("every one of the 3 items"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("out")));
}

TEST(ShardSet, RejectsInvalidOptions) {
  TempDir dir;
  FakeSource source(3);
  for (const char* prefix : {"", ".hidden", "a/b", "a b"}) {
    ShardSetOptions options = Options(dir, "out");
    options.prefix = prefix;
    EXPECT_EQ(WriteShards(storage::LocalFiles(), source, options).status().code(), absl::StatusCode::kInvalidArgument)
        << prefix;
  }
  ShardSetOptions options = Options(dir, "out");
  options.shard_bytes = 0;
  EXPECT_FALSE(WriteShards(storage::LocalFiles(), source, options).ok());
  EXPECT_FALSE(WriteShards(storage::LocalFiles(), FakeSource(0), Options(dir, "out")).ok());
}

TEST(ShardSet, ReportsItsProgressInOrder) {
  TempDir dir;
  FakeSource source(100);
  ShardSetOptions options = Options(dir, "out", 4);
  uint64_t last = 0;
  options.progress = [&](const ShardSetProgress& p) {
    EXPECT_GE(p.items_done, last);
    EXPECT_EQ(p.items_total, 100u);
    last = p.items_done;
  };
  ExpectOk(WriteShards(storage::LocalFiles(), source, options));
  EXPECT_EQ(last, 100u);
}

TEST(ShardState, ArgumentsAreTheSameInAnyOrder) {
  ShardState then, now;
  then.arguments = {{"source", "/a"}, {"quality", "90"}};
  now.arguments = {{"quality", "90"}, {"source", "/a"}};
  EXPECT_EQ(SameArguments(then, now), absl::OkStatus());
  now.arguments = {{"quality", "90"}, {"source", "/a"}, {"key", ""}};
  EXPECT_EQ(SameArguments(then, now), absl::FailedPreconditionError("key: then not given, now ''"));
  EXPECT_EQ(SameArguments(now, then), absl::FailedPreconditionError("key: then '', now not given"));
}

TEST(ShardState, SurvivesSerialization) {
  ShardState state;
  state.arguments = {{"source", "/a b/\n\"c\""}, {"quality", ""}};
  state.shards = {{"data-00000.tfrecord", 7, 6, 999, {1, 2, 3}}, {"data-00001.tfrecord", 1, 1, 9, {}}};
  state.skipped = {"file x: bad\nvery"};
  state.note = "two\nlines";
  for (const bool complete : {false, true}) {
    state.complete = complete;
    const auto read = ParseShardState(state.Serialize());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, state);
  }
  const std::string text = state.Serialize();
  for (size_t cut = 0; cut < text.size(); ++cut) EXPECT_FALSE(ParseShardState(text.substr(0, cut)).ok()) << cut;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(ParseShardState(damaged).ok()) << at;
  }
}

}  // namespace
}  // namespace penstock::imports
