#include "pipeline/records/example_patch.h"

#include <gtest/gtest.h>

#include "base/wire.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {
namespace {

std::string Patched(std::string_view record, std::vector<FeaturePatch> patches) {
  std::string out = "old";
  const absl::Status status = PatchExample(record, patches, &out);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(PatchExample, ReplacesInPlaceAndKeepsTheRest) {
  const std::string record = ExampleBuilder().Bytes("a", "1").Int64("b", 2).Float("c", 3).Serialize();
  EXPECT_EQ(Patched(record, {{.key = "b", .value = int64_t{77}}}),
            ExampleBuilder().Bytes("a", "1").Int64("b", 77).Float("c", 3).Serialize());
  EXPECT_EQ(Patched(record, {{.key = "a", .value = std::string_view("long\0er", 7)}}),
            ExampleBuilder().Bytes("a", {"long\0er", 7}).Int64("b", 2).Float("c", 3).Serialize());
  EXPECT_EQ(Patched(record, {}), record);
}

TEST(PatchExample, AddsAKeyOnlyOnRequest) {
  const std::string record = ExampleBuilder().Bytes("a", "1").Serialize();
  EXPECT_EQ(Patched(record, {{.key = "b", .value = int64_t{2}}}), record);
  EXPECT_EQ(Patched(record, {{.key = "b", .value = int64_t{2}, .add = true}}),
            ExampleBuilder().Bytes("a", "1").Int64("b", 2).Serialize());
  EXPECT_EQ(Patched("", {{.key = "b", .value = int64_t{2}, .add = true}}), ExampleBuilder().Int64("b", 2).Serialize());
}

TEST(PatchExample, OnlyTheLastOfDuplicateKeysRemains) {
  // The key "b" appears three times, in two pieces of the features.
  const std::string record = ExampleBuilder().Int64("b", 1).Int64("b", 2).Serialize() +
                             ExampleBuilder().Bytes("a", "x").Int64("b", 3).Serialize();
  EXPECT_EQ(Patched(record, {{.key = "b", .value = int64_t{9}}}),
            ExampleBuilder().Serialize() + ExampleBuilder().Bytes("a", "x").Int64("b", 9).Serialize());
}

TEST(PatchExample, KeepsUnknownFieldsAndFeatureLists) {
  SequenceExampleBuilder builder;
  builder.context().Int64("b", 1);
  const int64_t values[] = {1, 2};
  builder.List("l").Int64Entry(values);
  std::string record = builder.Serialize();
  AppendTag(9, WireType::kVarint, &record);
  AppendVarint(300, &record);
  SequenceExampleBuilder expected;
  expected.context().Int64("b", 5);
  expected.List("l").Int64Entry(values);
  std::string expected_record = expected.Serialize();
  AppendTag(9, WireType::kVarint, &expected_record);
  AppendVarint(300, &expected_record);
  EXPECT_EQ(Patched(record, {{.key = "b", .value = int64_t{5}}}), expected_record);
}

TEST(PatchExample, RejectsMalformedRecords) {
  const std::string record = ExampleBuilder().Bytes("a", "1").Int64("b", 2).Serialize();
  std::string out;
  const std::vector<FeaturePatch> patches = {{.key = "b", .value = int64_t{5}}};
  int refused = 0;
  for (size_t cut = 1; cut < record.size(); ++cut) {
    refused += PatchExample(record.substr(0, cut), patches, &out).ok() ? 0 : 1;
  }
  EXPECT_EQ(refused, static_cast<int>(record.size()) - 1);
  EXPECT_FALSE(PatchExample("\xff\xff\xff", patches, &out).ok());
}

}  // namespace
}  // namespace penstock::records
