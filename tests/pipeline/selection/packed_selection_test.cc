// The packs of a job: which records share rows, records that are too long or bad, and descriptions that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/selection/feature_types.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/selection/record_filter.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/selection/selection_testing.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::selection {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PackedSelection : public JobSelection {
 protected:
  static std::string Text(int tokens, int masks) {
    records::ExampleBuilder example;
    example.Int64List("tokens", std::vector<int64_t>(static_cast<size_t>(tokens), tokens));
    example.Int64List("mask", std::vector<int64_t>(static_cast<size_t>(masks), 1));
    const std::string raw(static_cast<size_t>(2 * tokens), 'r');
    return example.BytesList("raw", std::vector<std::string_view>{raw}).Serialize();
  }
  static std::vector<std::string> Texts(const std::vector<int>& lengths) {
    std::vector<std::string> texts;
    for (const int length : lengths) texts.push_back(Text(length, length));
    return texts;
  }
  v1::Pack* Pack(uint64_t length, const std::vector<std::string>& features = {"tokens"}) {
    v1::Pack* const pack = job_.mutable_dataset(0)->add_select()->mutable_pack();
    pack->set_length(length);
    for (const std::string& feature : features) pack->add_features(feature);
    return pack;
  }
  absl::StatusOr<sources::LoadedIndex> Index(const std::string& path) {
    const absl::StatusOr<v1::Selection> selection = Make({path});
    if (!selection.ok()) return selection.status();
    const auto options = WithSelection(sources::IndexOptionsOf(job_), *selection);
    if (!options.ok()) return options.status();
    return sources::BuildIndexOf(storage::LocalFiles(), path, *options);
  }
};

TEST_F(PackedSelection, PacksTheRecordsThatTheStepsBeforeKeep) {
  const std::string path = Shard("a", Texts({5, 2, 9, 1, 7, 3}));
  Filter("len(tokens) != 1");
  Pack(10, {"tokens", "mask"});
  const auto built = Index(path);
  ASSERT_TRUE(built.ok()) << built.status();
  const sources::ShardIndex& index = *built->index;
  ASSERT_TRUE(index.is_packed());
  EXPECT_EQ(index.shard_records(), 6u);
  // Lengths 9; 7 and 3; 5 and 2. The rows have the order of their first records.
  EXPECT_THAT(index.packs().rows.ends, ElementsAre(2u, 3u, 5u));
  std::vector<uint64_t> numbers;
  for (const plan::PackPart& part : index.packs().rows.parts) {
    numbers.push_back(index.packs().records->NumberInShard(part.record));
  }
  EXPECT_THAT(numbers, ElementsAre(0u, 1u, 2u, 4u, 5u));
}

TEST_F(PackedSelection, CountsNumbersInRawBytes) {
  const std::string path = Shard("a", Texts({5, 5, 4}));
  v1::Feature* const raw = job_.add_features();
  raw->set_key("raw");
  raw->set_type(v1::Feature::BYTES);
  raw->set_decode_raw(v1::UINT16);
  raw->set_variable_length(true);
  Pack(10, {"raw"});
  const auto built = Index(path);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->index->packs().rows.ends, ElementsAre(2u, 3u));
}

TEST_F(PackedSelection, LongRecordsAreHandledAsTheJobSays) {
  const std::string path = Shard("a", Texts({25, 4}));
  v1::Pack* const pack = Pack(10);
  const auto failed = Index(path);
  EXPECT_THAT(std::string(failed.status().message()),
              AllOf(HasSubstr("record 0: 'tokens' has 25 values, and a packed row has 10: set pack.longer to"),
                    HasSubstr("errors { policy: MASK }")));
  job_.mutable_errors()->set_policy(v1::MASK);
  const auto left_out = Index(path);
  ASSERT_TRUE(left_out.ok()) << left_out.status();
  EXPECT_EQ(left_out->index->record_count(), 1u);
  EXPECT_EQ(left_out->index->left_out(), 1u);
  for (const auto& [longer, rows] : std::vector<std::pair<v1::Pack::Longer, uint64_t>>{
           {v1::Pack::DROP, 1}, {v1::Pack::TRUNCATE, 2}, {v1::Pack::SPLIT, 3}}) {
    pack->set_longer(longer);
    const auto built = Index(path);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(built->index->record_count(), rows);
    EXPECT_EQ(built->index->left_out(), 0u);
  }
  pack->set_longer(v1::Pack::FAIL);
  pack->set_concatenate(true);
  EXPECT_EQ((*Index(path)).index->record_count(), 3u);
}

TEST_F(PackedSelection, FeaturesOfDifferentLengthsMakeARecordBad) {
  const std::string path = Shard("a", {Text(3, 3), Text(4, 5)});
  Pack(10, {"tokens", "mask"});
  EXPECT_THAT(std::string(Index(path).status().message()),
              HasSubstr("record 1: 'mask' has 5 values, but 'tokens' has 4; packed features have equally many"));
  job_.mutable_dataset(0)->clear_select();
  Pack(10, {"tokens", "musk"});
  EXPECT_THAT(std::string(Index(path).status().message()),
              AllOf(HasSubstr("select[0].pack.features"), HasSubstr("mask")));
}

TEST_F(PackedSelection, ALargeRecordIsNotCut) {
  const std::string raw(size_t{17} << 20, 'r');
  const std::string path =
      Shard("a", {records::ExampleBuilder().BytesList("raw", std::vector<std::string_view>{raw}).Serialize()});
  v1::Feature* const feature = job_.add_features();
  feature->set_key("raw");
  feature->set_type(v1::Feature::BYTES);
  feature->set_decode_raw(v1::UINT8);
  v1::Pack* const pack = Pack(1000, {"raw"});
  pack->set_longer(v1::Pack::SPLIT);
  EXPECT_THAT(std::string(Index(path).status().message()),
              HasSubstr("and each of its packed rows reads them all; cut records of more than 16777216 bytes first"));
  pack->set_longer(v1::Pack::TRUNCATE);
  EXPECT_EQ((*Index(path)).index->record_count(), 1u);
}

TEST_F(PackedSelection, ADescriptionThatIsWrongIsRejected) {
  const std::string path = Shard("a", Texts({5, 2}));
  Pack(10);
  v1::Selection selection = *Make({path});
  v1::Pack* const pack = selection.mutable_steps(0)->mutable_pack();
  const v1::Pack good = *pack;
  ASSERT_TRUE(CreateSelection(selection).ok());
  pack->set_length(0);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
  *pack = good;
  pack->set_overlap(10);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
  *pack = good;
  pack->set_window(uint64_t{1} << 40);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
  *pack = good;
  pack->clear_features();
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
}

TEST_F(PackedSelection, FractionsOfLaterRecordsAreRead) {
  const std::string path = folder_.File("a.jsonl");
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += i < 35 ? "{\"loss\": [1, 0]}\n" : "{\"loss\": [0.5]}\n";
  ASSERT_TRUE(WriteFileAtomically(path, lines).ok());
  v1::Feature* const feature = job_.add_features();
  feature->set_key("loss");
  feature->set_type(v1::Feature::FLOAT);
  Pack(1000, {"loss"});
  const auto built = Index(path);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->index->packs().rows.parts.size(), 40u);
}

TEST_F(PackedSelection, ReadsOnlyTheMembersThatArePacked) {
  std::string archive;
  sources::AppendTarMember("s0.jpg", std::string(1000, 'j'), &archive);
  sources::AppendTarMember("s0.json", "{\"tokens\": [1, 2]}", &archive);
  const std::string path = folder_.File("s.tar");
  ASSERT_TRUE(WriteFileAtomically(path, archive + std::string(1024, '\0')).ok());
  v1::Feature* const feature = job_.add_features();
  feature->set_key("json/tokens");
  feature->set_type(v1::Feature::INT64);
  Pack(10, {"json/tokens"});
  const auto types = FeatureTypes::Find(storage::LocalFiles(), job_, {path});
  ASSERT_TRUE(types.ok()) << types.status();
  auto steps = ParseSteps(job_.dataset(0).select(), "select", *types);
  ASSERT_TRUE(steps.ok()) << steps.status();
  const auto filter = RecordFilter::Create(*std::move(steps), *types);
  ASSERT_TRUE(filter.ok()) << filter.status();
  EXPECT_NE(filter->FeaturesToRead(sources::ContainerKind::kTar), nullptr);
}

TEST_F(PackedSelection, EachFieldThatMovesARecordChangesTheId) {
  const std::string path = Shard("a", Texts({5, 2}));
  std::set<uint64_t> ids;
  v1::Pack* const pack = Pack(10);
  ids.insert(IdOf(*Make({path})));
  pack->set_length(11);
  ids.insert(IdOf(*Make({path})));
  pack->set_longer(v1::Pack::SPLIT);
  ids.insert(IdOf(*Make({path})));
  pack->set_window(7);
  ids.insert(IdOf(*Make({path})));
  pack->clear_longer();
  pack->set_concatenate(true);
  ids.insert(IdOf(*Make({path})));
  pack->set_overlap(1);
  ids.insert(IdOf(*Make({path})));
  pack->add_features("mask");
  ids.insert(IdOf(*Make({path})));
  EXPECT_EQ(ids.size(), 7u);
  pack->add_outputs(v1::Pack::LENGTHS);  // does not concern the index
  EXPECT_TRUE(ids.contains(IdOf(*Make({path}))));
}

}  // namespace
}  // namespace penstock::selection
