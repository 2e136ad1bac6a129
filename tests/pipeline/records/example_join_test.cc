#include "pipeline/records/example_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/wire.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {
namespace {

using ::testing::HasSubstr;

std::string Joined(std::string_view first, std::string_view second, std::string_view prefix = "") {
  std::string out = "old";
  const absl::Status status = JoinExamples(first, second, prefix, &out);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(JoinExamples, TheFeaturesOfTheSecondFollowThoseOfTheFirst) {
  const std::string first = ExampleBuilder().Bytes("a", "1").Int64("b", 2).Serialize();
  const std::string second = ExampleBuilder().Float("c", 3).Unset("d").Bytes("e", "").Serialize();
  EXPECT_EQ(Joined(first, second),
            ExampleBuilder().Bytes("a", "1").Int64("b", 2).Float("c", 3).Unset("d").Bytes("e", "").Serialize());
  EXPECT_EQ(Joined(first, ""), first);
  EXPECT_EQ(Joined("", second), second);
  EXPECT_EQ(Joined("", ""), "");
}

TEST(JoinExamples, ThePrefixIsBeforeTheKeysOfTheSecondAlone) {
  const std::string first = ExampleBuilder().Bytes("a", "1").Serialize();
  const std::string second = ExampleBuilder().Bytes("a", "2").Int64("", 3).Serialize();
  EXPECT_EQ(Joined(first, second, "x/"), ExampleBuilder().Bytes("a", "1").Bytes("x/a", "2").Int64("x/", 3).Serialize());
}

TEST(JoinExamples, AKeyOfBothIsNamed) {
  std::string out;
  const std::string first = ExampleBuilder().Bytes("a", "1").Int64("x/b", 2).Serialize();
  const std::string second = ExampleBuilder().Int64("b", 2).Serialize();
  const absl::Status clash = JoinExamples(first, second, "x/", &out);
  EXPECT_TRUE(absl::IsAlreadyExists(clash)) << clash;
  EXPECT_THAT(std::string(clash.message()), HasSubstr("'x/b'"));
  EXPECT_TRUE(JoinExamples(first, second, "y/", &out).ok());
  // Also without a value on one side: readers would see one of the two.
  EXPECT_TRUE(absl::IsAlreadyExists(JoinExamples(ExampleBuilder().Unset("b").Serialize(), second, "", &out)));
}

TEST(JoinExamples, DuplicateKeysOfOneRecordAreNoClash) {
  // In each record the last value of a key counts, in any of the pieces.
  const std::string first = ExampleBuilder().Int64("a", 1).Serialize() + ExampleBuilder().Int64("a", 2).Serialize();
  const std::string second = ExampleBuilder().Int64("b", 3).Serialize() + ExampleBuilder().Int64("b", 4).Serialize();
  EXPECT_EQ(Joined(first, second), ExampleBuilder().Int64("a", 1).Serialize() +
                                       ExampleBuilder().Int64("a", 2).Int64("b", 3).Int64("b", 4).Serialize());
}

TEST(JoinExamples, KeepsUnknownFieldsAndFeatureListsOfTheFirst) {
  SequenceExampleBuilder builder, expected;
  builder.context().Int64("b", 1);
  expected.context().Int64("b", 1).Int64("c", 2);
  const int64_t values[] = {1, 2};
  builder.List("l").Int64Entry(values);
  expected.List("l").Int64Entry(values);
  std::string first = builder.Serialize(), joined = expected.Serialize();
  for (std::string* record : {&first, &joined}) {
    AppendTag(9, WireType::kVarint, record);
    AppendVarint(300, record);
  }
  EXPECT_EQ(Joined(first, ExampleBuilder().Int64("c", 2).Serialize()), joined);
}

TEST(JoinExamples, FeatureListsOfTheSecondAreRejected) {
  SequenceExampleBuilder builder;
  const int64_t values[] = {1, 2};
  builder.List("l").Int64Entry(values);
  std::string out;
  const absl::Status status = JoinExamples("", builder.Serialize(), "", &out);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SequenceExample"));
}

TEST(JoinExamples, ACutRecordOfEitherSideIsRejected) {
  const std::string whole = ExampleBuilder().Bytes("a", "123").Int64("b", 2).Serialize();
  const std::string other = ExampleBuilder().Float("c", 3).Serialize();
  for (size_t bytes = 1; bytes < whole.size(); ++bytes) {
    std::string out;
    const std::string_view cut = std::string_view(whole).substr(0, bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(JoinExamples(cut, other, "", &out))) << bytes;
    EXPECT_TRUE(absl::IsInvalidArgument(JoinExamples(other, cut, "", &out))) << bytes;
  }
}

}  // namespace
}  // namespace penstock::records
