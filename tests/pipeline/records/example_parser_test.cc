#include "pipeline/records/example_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/wire.h"
#include "pipeline/records/example_builder.h"

namespace penstock::records {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ExampleParser Parser(std::vector<FeatureRequest> requests, const ParserOptions& options = {}) {
  auto parser = ExampleParser::Create(std::move(requests), options);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

const FeatureRequest kImage{.key = "image", .kind = FeatureKind::kBytes};
const FeatureRequest kLabel{.key = "label", .kind = FeatureKind::kInt64};
const FeatureRequest kBox{.key = "box", .kind = FeatureKind::kFloat};

// A Feature message whose field `kind` is a list message.
std::string Feature(FeatureKind kind, const std::string& list) {
  std::string out;
  AppendLengthPrefixed(static_cast<uint32_t>(kind), list, &out);
  return out;
}
std::string Entry(std::string_view key, const std::vector<std::string>& values) {
  std::string out;
  AppendLengthPrefixed(1, key, &out);
  for (const std::string& value : values) AppendLengthPrefixed(2, value, &out);
  return out;
}
std::string Example(const std::vector<std::string>& entries) {
  std::string features, out;
  for (const std::string& entry : entries) AppendLengthPrefixed(1, entry, &features);
  AppendLengthPrefixed(1, features, &out);
  return out;
}
std::string PackedInts(const std::vector<uint64_t>& values) {
  std::string packed, out;
  for (const uint64_t value : values) AppendVarint(value, &packed);
  AppendLengthPrefixed(1, packed, &out);
  return out;
}
std::string OneInt(uint64_t value) {
  std::string out;
  AppendTag(1, WireType::kVarint, &out);
  AppendVarint(value, &out);
  return out;
}

TEST(ExampleParser, ReadsEveryKindWithoutCopyingBytes) {
  const float box[] = {0.5f, -1.0f, INFINITY};
  const int64_t labels[] = {0, 1, -1, INT64_MIN, INT64_MAX, 300};
  const std::string record =
      ExampleBuilder().Bytes("image", "JPEG").Int64List("label", labels).FloatList("box", box).Serialize();
  ParsedExample parsed;
  ASSERT_TRUE(Parser({kBox, kImage, kLabel}).Parse(record, &parsed).ok());
  EXPECT_THAT(parsed[0].floats, ElementsAre(0.5f, -1.0f, INFINITY));
  EXPECT_THAT(parsed[1].bytes, ElementsAre("JPEG"));
  EXPECT_THAT(parsed[2].ints, ElementsAre(0, 1, -1, INT64_MIN, INT64_MAX, 300));
  EXPECT_FALSE(parsed[0].missing || parsed[1].missing || parsed[2].missing);
  EXPECT_GE(parsed[1].bytes[0].data(), record.data());
  EXPECT_LE(parsed[1].bytes[0].data() + 4, record.data() + record.size());
}

TEST(ExampleParser, DistinguishesMissingFromEmpty) {
  const std::string record = ExampleBuilder().Int64List("label", {}).Unset("box").BytesList("image", {}).Serialize();
  ParsedExample parsed;
  ASSERT_TRUE(
      Parser({kLabel, kBox, kImage, {.key = "other", .kind = FeatureKind::kInt64}}).Parse(record, &parsed).ok());
  EXPECT_FALSE(parsed[0].missing);
  EXPECT_EQ(parsed[0].count(), 0u);
  EXPECT_TRUE(parsed[1].missing);  // a Feature without a kind
  EXPECT_FALSE(parsed[2].missing);
  EXPECT_TRUE(parsed[3].missing);
  ASSERT_TRUE(Parser({kLabel}).Parse("", &parsed).ok());
  ASSERT_EQ(parsed.size(), 1u);
  EXPECT_TRUE(parsed[0].missing);
}

TEST(ExampleParser, ReadsPackedUnpackedAndMixedNumbers) {
  ParsedExample parsed;
  const std::string ints = OneInt(7) + PackedInts({8, 9}) + OneInt(10) + PackedInts({});
  ASSERT_TRUE(Parser({kLabel}).Parse(Example({Entry("label", {Feature(FeatureKind::kInt64, ints)})}), &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(7, 8, 9, 10));
  std::string floats("\x0d\x00\x00\x80\x3f\x0a\x08\x00\x00\x00\x40\x00\x00\x40\x40", 15);
  ASSERT_TRUE(Parser({kBox}).Parse(Example({Entry("box", {Feature(FeatureKind::kFloat, floats)})}), &parsed).ok());
  EXPECT_THAT(parsed[0].floats, ElementsAre(1.0f, 2.0f, 3.0f));
}

TEST(ExampleParser, TheLastOfDuplicateKeysWins) {
  ParsedExample parsed;
  const std::string record = ExampleBuilder().Int64("label", 1).Bytes("image", "x").Int64("label", 2).Serialize();
  ASSERT_TRUE(Parser({kLabel, kImage}).Parse(record, &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(2));
  // This holds also for another kind, and over two Features messages.
  const std::string two =
      ExampleBuilder().Float("label", 1).Serialize() + ExampleBuilder().Int64("label", 5).Serialize();
  ASSERT_TRUE(Parser({kLabel}).Parse(two, &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(5));
}

TEST(ExampleParser, MergesAsProtobufDoes) {
  ParsedExample parsed;
  const std::string one = Feature(FeatureKind::kInt64, OneInt(1)), two = Feature(FeatureKind::kInt64, OneInt(2));
  const std::string text = Feature(FeatureKind::kBytes, std::string("\x0a\x01x", 3));
  // Lists of one kind join, whether the Feature or the entry's value repeats. A list of another kind replaces them.
  ASSERT_TRUE(Parser({kLabel}).Parse(Example({Entry("label", {one + two})}), &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(1, 2));
  ASSERT_TRUE(Parser({kLabel}).Parse(Example({Entry("label", {one, two})}), &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(1, 2));
  ASSERT_TRUE(Parser({kLabel}).Parse(Example({Entry("label", {one + text + two})}), &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(2));
  EXPECT_FALSE(Parser({kLabel}).Parse(Example({Entry("label", {one + text})}), &parsed).ok());
}

TEST(ExampleParser, ErrorsNameTheActualAndTheRequestedKind) {
  ParsedExample parsed;
  const absl::Status status = Parser({kLabel}).Parse(ExampleBuilder().Float("label", 1).Serialize(), &parsed);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  for (const char* part : {"\"label\"", "FLOAT", "INT64"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

TEST(ExampleParser, SkipsUnknownFieldsOfEveryWireType) {
  std::string unknown;
  AppendTag(99, WireType::kVarint, &unknown);
  AppendVarint(UINT64_MAX, &unknown);
  AppendTag(98, WireType::kFixed64, &unknown);
  unknown += "12345678";
  AppendTag(97, WireType::kFixed32, &unknown);
  unknown += "1234";
  AppendLengthPrefixed(96, "bytes", &unknown);
  AppendTag(95, WireType::kStartGroup, &unknown);
  AppendTag(1, WireType::kStartGroup, &unknown);
  AppendTag(1, WireType::kEndGroup, &unknown);
  AppendTag(95, WireType::kEndGroup, &unknown);
  const std::string feature = unknown + Feature(FeatureKind::kInt64, unknown + OneInt(3) + unknown) + unknown;
  const std::string record =
      unknown + Example({unknown + Entry("label", {feature}) + unknown, Entry("image", {})}) + unknown;
  ParsedExample parsed;
  ASSERT_TRUE(Parser({kLabel}).Parse(record, &parsed).ok());
  EXPECT_THAT(parsed[0].ints, ElementsAre(3));
}

TEST(ExampleParser, ChecksTheLengthOfRawArrays) {
  const FeatureRequest raw{.key = "raw", .kind = FeatureKind::kBytes, .element_bytes = 4};
  ParsedExample parsed;
  EXPECT_TRUE(Parser({raw}).Parse(ExampleBuilder().Bytes("raw", "12345678").Serialize(), &parsed).ok());
  const absl::Status odd = Parser({raw}).Parse(ExampleBuilder().Bytes("raw", "1234567").Serialize(), &parsed);
  EXPECT_THAT(std::string(odd.message()), HasSubstr("7 bytes"));
}

TEST(ExampleParser, ServesTwoRequestsForOneKey) {
  const std::string record = ExampleBuilder().Bytes("image", "abcd").Serialize();
  ParsedExample parsed;
  const FeatureRequest raw{.key = "image", .kind = FeatureKind::kBytes, .element_bytes = 2};
  ASSERT_TRUE(Parser({kImage, kLabel, raw}).Parse(record, &parsed).ok());
  EXPECT_THAT(parsed[0].bytes, ElementsAre("abcd"));
  EXPECT_THAT(parsed[2].bytes, ElementsAre("abcd"));
}

TEST(ExampleParser, ReadsSequenceExamples) {
  const float f[] = {1, 2, 3};
  const int64_t n[] = {4, 5};
  const std::string_view b[] = {"x", ""};
  SequenceExampleBuilder builder;
  builder.context().Int64("id", 42).Bytes("t", "in the context");
  builder.List("t").FloatEntry({f, 2}).FloatEntry({}).FloatEntry({f + 2, 1});
  builder.List("n").Int64Entry(n).List("b").BytesEntry(b).List("empty");
  const std::string record = builder.Serialize();
  const ExampleParser parser = Parser({{.key = "t", .kind = FeatureKind::kFloat, .sequence = true},
                                       {.key = "id", .kind = FeatureKind::kInt64},
                                       {.key = "t", .kind = FeatureKind::kBytes},
                                       {.key = "n", .kind = FeatureKind::kInt64, .sequence = true},
                                       {.key = "b", .kind = FeatureKind::kBytes, .sequence = true},
                                       {.key = "empty", .kind = FeatureKind::kBytes, .sequence = true},
                                       {.key = "none", .kind = FeatureKind::kBytes, .sequence = true}},
                                      {.format = RecordFormat::kSequenceExample});
  ParsedExample parsed;
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(parser.Parse(record, &parsed).ok());
    EXPECT_THAT(parsed[0].floats, ElementsAre(1, 2, 3));
    EXPECT_THAT(parsed[0].splits, ElementsAre(0, 2, 2, 3));
    EXPECT_THAT(parsed[1].ints, ElementsAre(42));
    EXPECT_THAT(parsed[1].splits, IsEmpty());
    EXPECT_THAT(parsed[2].bytes, ElementsAre("in the context"));
    EXPECT_THAT(parsed[3].splits, ElementsAre(0, 2));
    EXPECT_THAT(parsed[4].bytes, ElementsAre("x", ""));
    EXPECT_FALSE(parsed[5].missing);
    EXPECT_THAT(parsed[5].splits, ElementsAre(0));
    EXPECT_TRUE(parsed[6].missing);
  }
}

TEST(ExampleParser, BoundsTheMemoryOfOneRecord) {
  const std::vector<int64_t> many(1000, 1);
  const std::string record = ExampleBuilder().Int64List("label", many).Serialize();
  ParsedExample parsed;
  EXPECT_TRUE(Parser({kLabel}, {.max_value_bytes = 8000}).Parse(record, &parsed).ok());
  const absl::Status over = Parser({kLabel}, {.max_value_bytes = 7999}).Parse(record, &parsed);
  EXPECT_TRUE(absl::IsResourceExhausted(over)) << over;
  EXPECT_THAT(std::string(over.message()), HasSubstr("label"));
}

TEST(ExampleParser, AllocatesNothingInTheSteadyState) {
  const std::vector<int64_t> many(1000, 1);
  const std::string record = ExampleBuilder().Int64List("label", many).Bytes("image", "x").Serialize();
  const ExampleParser parser = Parser({kLabel, kImage});
  ParsedExample parsed;
  ASSERT_TRUE(parser.Parse(record, &parsed).ok());
  const auto* const ints = parsed[0].ints.data();
  const auto* const bytes = parsed[1].bytes.data();
  ASSERT_TRUE(parser.Parse(record, &parsed).ok());
  EXPECT_EQ(parsed[0].ints.data(), ints);
  EXPECT_EQ(parsed[1].bytes.data(), bytes);
}

TEST(ExampleParser, RejectsInvalidRequests) {
  EXPECT_FALSE(ExampleParser::Create({{.key = "x", .kind = FeatureKind::kNone}}).ok());
  EXPECT_FALSE(ExampleParser::Create({{.key = "x", .kind = FeatureKind::kInt64, .sequence = true}}).ok());
  EXPECT_FALSE(ExampleParser::Create({{.key = "x", .kind = FeatureKind::kInt64, .element_bytes = 4}}).ok());
}

TEST(ExampleParser, RejectsMalformedBytes) {
  ParsedExample parsed;
  const ExampleParser parser = Parser({kLabel});
  const std::string deep = [] {
    std::string groups;
    for (int i = 0; i < 100'000; ++i) AppendTag(9, WireType::kStartGroup, &groups);
    return groups;
  }();
  for (const std::string& bad :
       {std::string("\x0a"), std::string("\x0a\x05"), std::string("\x00\x00", 2), std::string("\x0f"),
        std::string("\x0c"), std::string(11, '\xff'), std::string("not an example at all"), deep,
        Example({Entry("label", {Feature(FeatureKind::kInt64, std::string("\x0a\x02\x80\x80", 4))})}),
        Example({Entry("label", {Feature(FeatureKind::kInt64, "\x08")})})}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parser.Parse(bad, &parsed))) << bad.substr(0, 20);
  }
  const absl::Status named =
      Parser({kBox}).Parse(Example({Entry("box", {Feature(FeatureKind::kFloat, "\x0a\x03xyz")})}), &parsed);
  EXPECT_THAT(std::string(named.message()), HasSubstr("\"box\""));
}

TEST(ExampleParser, NeverReadsBeyondATruncatedOrChangedRecord) {
  const float f[] = {1, 2, 3};
  SequenceExampleBuilder builder;
  builder.context().Int64("label", 42).Bytes("image", "abcdefgh").FloatList("box", f);
  builder.List("t").FloatEntry(f).FloatEntry({}).List("n").Int64Entry({});
  const std::string record = builder.Serialize();
  const ExampleParser parser =
      Parser({kImage, kLabel, kBox, {.key = "t", .kind = FeatureKind::kFloat, .sequence = true}},
             {.format = RecordFormat::kSequenceExample});
  ParsedExample parsed;
  const auto check = [&](const std::string& bytes) {
    // A buffer of the exact size, so that AddressSanitizer detects reads after the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const std::string_view view(exact.data(), exact.size());
    (void)ListFeatures(view, RecordFormat::kSequenceExample);
    if (!parser.Parse(view, &parsed).ok()) return;
    for (const FeatureValue& value : parsed) {
      for (const std::string_view b : value.bytes) {
        ASSERT_GE(b.data(), view.data());
        ASSERT_LE(b.data() + b.size(), view.data() + view.size());
      }
      if (!value.splits.empty()) {
        ASSERT_EQ(value.splits.back(), value.count());
      }
    }
  };
  for (size_t i = 0; i < record.size(); ++i) {
    check(record.substr(0, i));
    for (int c = 0; c < 256; c += 3) {
      std::string changed = record;
      changed[i] = static_cast<char>(c);
      check(changed);
    }
  }
}

TEST(ListFeatures, ShowsAllKeysWithKindAndCount) {
  const std::string record = ExampleBuilder()
                                 .Int64("label", 1)
                                 .Bytes("image", "JPEG")
                                 .FloatList("box", std::vector<float>{1, 2, 3})
                                 .Unset("nothing")
                                 .Int64List("label", std::vector<int64_t>{1, 2})
                                 .Serialize();
  const auto features = ListFeatures(record, RecordFormat::kExample);
  ASSERT_TRUE(features.ok()) << features.status();
  ASSERT_EQ(features->size(), 4u);
  EXPECT_EQ((*features)[0].key, "box");
  EXPECT_EQ((*features)[0].kind, FeatureKind::kFloat);
  EXPECT_EQ((*features)[0].count, 3u);
  EXPECT_EQ((*features)[1].first_bytes, "JPEG");
  EXPECT_EQ((*features)[2].count, 2u);
  EXPECT_EQ((*features)[3].kind, FeatureKind::kNone);
}

TEST(GuessFormat, DistinguishesExamplesFromSequenceExamples) {
  SequenceExampleBuilder builder;
  builder.List("t").Int64Entry(std::vector<int64_t>{1, 2}).Int64Entry(std::vector<int64_t>{3});
  EXPECT_EQ(*GuessFormat(builder.Serialize()), RecordFormat::kSequenceExample);
  const auto lists = ListFeatures(builder.Serialize(), RecordFormat::kSequenceExample);
  ASSERT_EQ(lists->size(), 1u);
  EXPECT_EQ((*lists)[0].list_length, 2u);
  EXPECT_EQ((*lists)[0].count, 3u);
  EXPECT_EQ(*GuessFormat(ExampleBuilder().Int64("x", 1).Serialize()), RecordFormat::kExample);
  EXPECT_FALSE(GuessFormat("\xff\xff\xff").ok());
}

}  // namespace
}  // namespace penstock::records
