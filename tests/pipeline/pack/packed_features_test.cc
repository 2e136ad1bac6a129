#include "pipeline/pack/packed_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/records/example_builder.h"
#include "tests/pipeline/pack/pack_testing.h"

namespace penstock::pack {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& features) {
  PackSchema schema;
  const auto example = ExampleOf(features, &schema);
  EXPECT_FALSE(example.ok());
  return std::string(example.status().message());
}

TEST(PackedFeatures, BecomeTheExampleOfABuilder) {
  PackSchema schema;
  const auto example =
      ExampleOf(BytesText("name", {"one", std::string("\0two", 4)}) + NumbersText<int64_t>("label", {-7}, true) +
                    NumbersText<float>("weights", {0.5f, -1e30f}) + BytesText("none", {}) +
                    ArrayText("pixels", 1, {2, 3}, "abcdef"),
                &schema);
  ASSERT_TRUE(example.ok()) << example.status();
  records::ExampleBuilder expected;
  const std::string_view names[] = {"one", {"\0two", 4}};
  const float weights[] = {0.5f, -1e30f};
  expected.BytesList("name", names).Int64("label", -7).FloatList("weights", weights).BytesList("none", {});
  expected.Bytes("pixels", "abcdef");
  EXPECT_EQ(*example, expected.Serialize());
  EXPECT_EQ(schema.records(), 1u);
}

TEST(PackedFeatures, AnArrayWithoutElementsHasExtentsOfPossibleArrays) {
  for (const uint64_t extent : {uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_THAT(Refusal(ArrayText("pixels", 1, {0, extent}, "")), HasSubstr("is an array of too many bytes"));
  }
}

TEST(PackedFeatures, ATruncatedFeatureIsRejected) {
  const std::string whole = BytesText("a", {"one", "two"}) + NumbersText<int64_t>("b", {1, 2}) +
                            NumbersText<float>("c", {1}) + ArrayText("d", 9, {2}, "12345678");
  PackSchema schema;
  ASSERT_TRUE(ExampleOf(whole, &schema).ok());
  const std::string ends[] = {
      BytesText("a", {"one", "two"}), BytesText("a", {"one", "two"}) + NumbersText<int64_t>("b", {1, 2}),
      BytesText("a", {"one", "two"}) + NumbersText<int64_t>("b", {1, 2}) + NumbersText<float>("c", {1})};
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    const bool border = cut == ends[0].size() || cut == ends[1].size() || cut == ends[2].size();
    PackSchema unused;
    EXPECT_EQ(ExampleOf(whole.substr(0, cut), &unused).ok(), border) << cut;
  }
}

TEST(PackedFeatures, RejectsInvalidFeatures) {
  EXPECT_THAT(Refusal(KeyText("k", 5)), HasSubstr("'k' is of kind 5"));
  EXPECT_THAT(Refusal(BytesText("k", {"a"}) + BytesText("k", {"a"})), HasSubstr("'k' is there twice"));
  EXPECT_THAT(Refusal(BytesText("k", {"a", "b"}, true)), HasSubstr("one value and has 2"));
  EXPECT_THAT(Refusal(ArrayText("k", 12, {1}, "a")), HasSubstr("of type 12"));
  EXPECT_THAT(Refusal(ArrayText("k", 1, std::vector<uint64_t>(99, 1), "a")), HasSubstr("99 axes"));
  EXPECT_THAT(Refusal(ArrayText("k", 10, {1u << 31, 1u << 31, 1u << 31}, "")), HasSubstr("too many bytes"));
  EXPECT_THAT(Refusal(ArrayText("k", 1, {3, 0}, "")), HasSubstr("only the first axis may be 0"));
  EXPECT_THAT(Refusal(BytesText("", {"a"})), HasSubstr("without a name"));
  EXPECT_THAT(Refusal(KeyText("k", 3) + Raw(uint8_t{0}) + Raw(~uint32_t{0})), HasSubstr("end too early"));
}

}  // namespace
}  // namespace penstock::pack
