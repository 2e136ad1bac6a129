#include "pipeline/records/array_row_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/npy_header.h"
#include "pipeline/records/record_example.h"
#include "pipeline/records/record_parser.h"

namespace penstock::records {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string ArrayRow(const std::string& descr, const std::vector<int64_t>& shape, const std::string& row) {
  return NpyHeaderText(descr, shape) + row;
}

// The values of a row. The views in `values` point into `record`.
struct Parsed {
  std::string record;
  ParsedExample values;
};

absl::StatusOr<Parsed> ParseRow(const std::string& record, const std::vector<FeatureRequest>& requests,
                                uint64_t max_value_bytes = 1 << 20) {
  const auto parser =
      RecordParser::Create(requests, {.format = RecordFormat::kArrayRow, .max_value_bytes = max_value_bytes});
  if (!parser.ok()) return parser.status();
  Parsed parsed{.record = record, .values = {}};
  const absl::Status status = parser->Parse(parsed.record, &parsed.values);
  if (!status.ok()) return status;
  return parsed;
}

std::vector<int64_t> Integers(const std::string& record, const std::string& key = kRowKey) {
  return ParseRow(record, {{.key = key, .kind = FeatureKind::kInt64}})->values[0].ints;
}
std::vector<float> Floats(const std::string& record) {
  return ParseRow(record, {{.key = kRowKey, .kind = FeatureKind::kFloat}})->values[0].floats;
}
std::vector<std::string> TextsIn(const std::string& record) {
  const auto parsed = ParseRow(record, {{.key = kRowKey}});
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return {parsed->values[0].bytes.begin(), parsed->values[0].bytes.end()};
}

TEST(ArrayRowParser, AWholeRowIsOneFeature) {
  EXPECT_THAT(Integers(ArrayRow("<i2", {3}, BytesOf<int16_t>({1, -2, 3}))), ElementsAre(1, -2, 3));
  EXPECT_THAT(Integers(ArrayRow("|b1", {}, std::string(1, '\1'))), ElementsAre(1));
  EXPECT_THAT(Integers(ArrayRow("<u8", {}, BytesOf<uint64_t>({uint64_t{1} << 62}))), ElementsAre(int64_t{1} << 62));
  EXPECT_THAT(Integers(ArrayRow("<M8[ns]", {}, BytesOf<int64_t>({-5}))), ElementsAre(-5));
  EXPECT_THAT(Floats(ArrayRow("<f4", {2, 2}, BytesOf<float>({1, 2, 3, 0.5f}))), ElementsAre(1, 2, 3, 0.5f));
  EXPECT_THAT(Floats(ArrayRow("<f8", {}, BytesOf<double>({0.1}))), ElementsAre(0.1f));
  EXPECT_THAT(Floats(ArrayRow("<f2", {2}, BytesOf<uint16_t>({0x3C00, 0xC000}))), ElementsAre(1, -2));
  EXPECT_THAT(TextsIn(ArrayRow("<c8", {}, "abcdefgh")), ElementsAre("abcdefgh")) << "the bytes of the row";
  EXPECT_THAT(TextsIn(ArrayRow("<f4", {2}, "abcdefgh")), ElementsAre("abcdefgh"));
}

TEST(ArrayRowParser, TextLosesTheZerosAtItsEnd) {
  EXPECT_THAT(TextsIn(ArrayRow("|S3", {3}, std::string("abca\0b\0\0\0", 9))),
              ElementsAre("abc", std::string("a\0b", 3), ""));
  EXPECT_THAT(TextsIn(ArrayRow("<U2", {3}, BytesOf<char32_t>({U'ö', U'日', U'\U0001F600', 0, 0, 0}))),
              ElementsAre("ö日", "\U0001F600", ""));
  for (const char32_t wrong : {char32_t{0xD800}, char32_t{0x110000}, char32_t{0xFFFFFFFF}}) {
    EXPECT_THAT(
        std::string(ParseRow(ArrayRow("<U1", {}, BytesOf<char32_t>({wrong})), {{.key = kRowKey}}).status().message()),
        HasSubstr("feature \"row\": its text is no Unicode"));
  }
}

TEST(ArrayRowParser, TextIsRawBytesForDecodeRaw) {
  const auto parsed = ParseRow(ArrayRow("|S5", {}, std::string("ab\0\0\0", 5)), {{.key = kRowKey, .element_bytes = 1}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->values[0].bytes, ElementsAre(std::string_view("ab\0\0\0", 5)));
}

TEST(ArrayRowParser, AFieldIsAFeatureWithItsName) {
  const std::string descr = "[('x', '<f4', (2,)), ('', '|V1'), ('label', '|i1'), ('größe', '<u2')]";
  const std::string record = ArrayRow(descr, {}, BytesOf<float>({1, 2}) + "p" + "\xFF" + BytesOf<uint16_t>({513}));
  const auto parsed = ParseRow(record, {{.key = "größe", .kind = FeatureKind::kInt64},
                                        {.key = "x", .kind = FeatureKind::kFloat},
                                        {.key = "x", .element_bytes = 4},
                                        {.key = "label", .kind = FeatureKind::kInt64},
                                        {.key = "row"},
                                        {.key = ""}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->values[0].ints, ElementsAre(513));
  EXPECT_THAT(parsed->values[1].floats, ElementsAre(1, 2));
  EXPECT_EQ(parsed->values[2].bytes.at(0), BytesOf<float>({1, 2}));
  EXPECT_THAT(parsed->values[3].ints, ElementsAre(-1));
  EXPECT_TRUE(parsed->values[4].missing);
  EXPECT_TRUE(parsed->values[5].missing) << "padding is no field";
}

TEST(ArrayRowParser, RecordsOfSeveralArraysMayAlternate) {
  const auto parser =
      RecordParser::Create({{.key = "a", .kind = FeatureKind::kInt64}}, {.format = RecordFormat::kArrayRow});
  ParsedExample values;
  for (int i = 0; i < 3; ++i) {
    for (const auto& [descr, row, expected] :
         {std::tuple("[('a', '|u1'), ('b', '|u1')]", "\1\2", 1), std::tuple("[('b', '|u1'), ('a', '|u1')]", "\1\2", 2),
          std::tuple("[('a', '<u2')]", "\3\1", 259)}) {
      ASSERT_TRUE(parser->Parse(ArrayRow(descr, {}, row), &values).ok());
      EXPECT_THAT(values[0].ints, ElementsAre(expected));
    }
  }
}

TEST(ArrayRowParser, OtherTypesAndRecordsAreErrors) {
  const auto error = [](const std::string& record, const FeatureRequest& request) {
    const absl::Status status = ParseRow(record, {request}).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  const std::string floats = ArrayRow("<f4", {2}, "abcdefgh");
  EXPECT_THAT(error(floats, {.key = "row", .kind = FeatureKind::kInt64}),
              HasSubstr("feature \"row\" holds FLOAT (a NumPy array of f4), but the job requests INT64"));
  EXPECT_THAT(error(ArrayRow("<u8", {}, std::string(8, '\xFF')), {.key = "row", .kind = FeatureKind::kInt64}),
              HasSubstr("an integer over 2^63 - 1"));
  EXPECT_THAT(error(floats, {.key = "row", .element_bytes = 3}), HasSubstr("no whole number of elements"));
  EXPECT_THAT(error(floats + "i", {.key = "row"}), HasSubstr("the row has 9 bytes, but its header declares 8"));
  EXPECT_THAT(error(floats.substr(0, floats.size() - 1), {.key = "row"}), HasSubstr("the row has 7 bytes"));
  EXPECT_THAT(error("text", {.key = "row"}), HasSubstr("no .npy header"));
  EXPECT_TRUE(absl::IsResourceExhausted(ParseRow(floats, {{.key = "row", .kind = FeatureKind::kFloat}}, 7).status()));
  EXPECT_FALSE(ParseRow(floats, {{.key = "row", .kind = FeatureKind::kNone}}).ok());
}

TEST(ArrayRowParser, IsListedWithTypesAndShapes) {
  const std::string record = ArrayRow(
      "[('x', '<f4', (2, 1)), ('label', '<i4'), ('s', '|S3', (2,)), ('u', '<U1')]", {},
      BytesOf<float>({1, 2}) + BytesOf<int32_t>({-7}) + std::string("ab\0cd\0", 6) + BytesOf<char32_t>({U'ö'}));
  const auto infos = ListValues(record, RecordFormat::kArrayRow);
  ASSERT_TRUE(infos.ok()) << infos.status();
  ASSERT_EQ(infos->size(), 4u);
  EXPECT_EQ((*infos)[0].key, "x");
  EXPECT_EQ((*infos)[0].kind, FeatureKind::kFloat);
  EXPECT_EQ((*infos)[0].count, 2u);
  EXPECT_EQ((*infos)[0].descr, "<f4");
  EXPECT_THAT((*infos)[0].shape, ElementsAre(2, 1));
  EXPECT_EQ((*infos)[1].least, -7);
  EXPECT_EQ((*infos)[1].most, -7);
  EXPECT_EQ((*infos)[2].kind, FeatureKind::kBytes);
  EXPECT_EQ((*infos)[2].count, 2u);
  EXPECT_EQ((*infos)[2].first_bytes, "ab");
  EXPECT_EQ((*infos)[3].first_bytes, "");
  EXPECT_EQ(ListValues(ArrayRow("<f4", {}, "abcd"), RecordFormat::kArrayRow)->at(0).key, kRowKey);
}

TEST(ExampleOfArrayRow, KeepsEachValue) {
  const std::string record =
      ArrayRow("[('f', '<f4'), ('d', '<f8'), ('i', '<i4', (2,)), ('u', '<u8'), ('s', '|S2', (2,))]", {},
               BytesOf<float>({1.5f}) + BytesOf<double>({0.1}) + BytesOf<int32_t>({1, -2}) +
                   BytesOf<uint64_t>({UINT64_MAX}) + std::string("abc\0", 4));
  const auto example = ExampleOfArrayRow(record);
  ASSERT_TRUE(example.ok()) << example.status();
  const auto parser = RecordParser::Create({{.key = "f", .kind = FeatureKind::kFloat},
                                            {.key = "d"},
                                            {.key = "i", .kind = FeatureKind::kInt64},
                                            {.key = "u"},
                                            {.key = "s"}},
                                           {});
  ParsedExample values;
  ASSERT_TRUE(parser->Parse(*example, &values).ok());
  EXPECT_THAT(values[0].floats, ElementsAre(1.5f));
  EXPECT_EQ(values[1].bytes.at(0), BytesOf<double>({0.1}));
  EXPECT_THAT(values[2].ints, ElementsAre(1, -2));
  EXPECT_EQ(values[3].bytes.at(0), BytesOf<uint64_t>({UINT64_MAX}));
  EXPECT_THAT(values[4].bytes, ElementsAre("ab", "c"));
}

}  // namespace
}  // namespace penstock::records
