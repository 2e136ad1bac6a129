#include "pipeline/loader/check_keys.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

using ::testing::HasSubstr;

// 12 shards of 40 records. Only the records of shard `with_tag` also have the key "tag".
support::TestDataset Tagged(const std::string& folder, int with_tag) {
  support::TestDataset set = support::MakeNumberDataset({.shards = 12, .records_per_shard = 40}, folder);
  for (int shard = 0; shard < 12; ++shard) {
    records::ExampleBuilder example;
    example.Int64("id", 1).Bytes("name", "n").Float("weight", 1).FloatList("values", std::vector<float>{1});
    if (shard == with_tag) example.Int64("tag", 7);
    support::WriteShard(set.files[static_cast<size_t>(shard)], std::vector<std::string>(40, example.Serialize()));
  }
  v1::Feature* tag = set.job.add_features();
  tag->set_key("tag");
  tag->set_type(v1::Feature::INT64);
  tag->set_variable_length(true);
  return set;
}

absl::Status Check(const support::TestDataset& set) {
  auto reader = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  PS_CHECK(reader.ok());
  return CheckKeys(set.job, reader->get());
}

TEST(CheckKeys, ReportsHowManyRecordsAndShardsWereChecked) {
  support::TempFolder folder;
  const absl::Status status = Check(Tagged(folder.path(), -1));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr(": none of the first 256 records of 8 shards (from "));
  EXPECT_THAT(text, HasSubstr(" has a key \"tag\""));
}

TEST(CheckKeys, ChecksShardsFromTheFirstToTheLast) {
  support::TempFolder first, last;
  EXPECT_EQ(Check(Tagged(first.path(), 0)), absl::OkStatus());
  EXPECT_EQ(Check(Tagged(last.path(), 11)), absl::OkStatus());
}

TEST(CheckKeys, SkipsDamagedRecords) {
  support::TempFolder folder;
  const support::TestDataset set = Tagged(folder.path(), 0);
  for (uint64_t record = 0; record < 31; ++record) support::BreakRecord(set.files[0], record);
  EXPECT_EQ(Check(set), absl::OkStatus()) << "record 31 has the key";
}

}  // namespace
}  // namespace penstock::loader
