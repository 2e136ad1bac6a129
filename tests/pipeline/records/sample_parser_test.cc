#include "pipeline/records/sample_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "tests/pipeline/import/npy_testing.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::records {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SampleMembers = std::vector<std::pair<std::string, std::string>>;

std::string Sample(const SampleMembers& members, std::string_view key = "train/0001") {
  std::string span;
  for (const auto& [extension, data] : members) {
    sources::AppendTarMember(absl::StrCat(std::string(key), ".", extension), data, &span);
  }
  return span;
}

// Parses one feature of a sample.
absl::StatusOr<FeatureValue> ReadOne(const std::string& record, const FeatureRequest& request,
                                     const ParserOptions& options = {}) {
  PS_ASSIGN_OR_RETURN(const SampleParser parser, SampleParser::Create({request}, options));
  ParsedExample parsed;
  PS_RETURN_IF_ERROR(parser.Parse(record, &parsed));
  return std::move(parsed[0]);
}

absl::StatusOr<std::vector<int64_t>> ReadInts(const std::string& record, const std::string& key) {
  PS_ASSIGN_OR_RETURN(FeatureValue value, ReadOne(record, {.key = key, .kind = FeatureKind::kInt64}));
  if (value.missing) return absl::NotFoundError("missing");
  return std::move(value.ints);
}

absl::StatusOr<std::vector<float>> ReadFloats(const std::string& record, const std::string& key) {
  PS_ASSIGN_OR_RETURN(FeatureValue value, ReadOne(record, {.key = key, .kind = FeatureKind::kFloat}));
  if (value.missing) return absl::NotFoundError("missing");
  return std::move(value.floats);
}

absl::StatusOr<std::vector<std::string>> ReadTexts(const std::string& record, const std::string& key) {
  PS_ASSIGN_OR_RETURN(const FeatureValue value, ReadOne(record, {.key = key, .kind = FeatureKind::kBytes}));
  if (value.missing) return absl::NotFoundError("missing");
  return std::vector<std::string>(value.bytes.begin(), value.bytes.end());
}

template <typename T>
std::string ElementBytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string JsonSample(const std::string& json) { return Sample({{"json", json}}); }

TEST(SampleParser, BytesOfAMemberAreInTheRecord) {
  const std::string record = Sample({{"Left.JPG", "photograph"}, {"txt", ""}});
  for (const char* key : {"left.jpg", "LEFT.jpg", "png;left.jpg;txt"}) {
    const auto value = ReadOne(record, {.key = key});
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_FALSE(value->missing);
    EXPECT_THAT(value->bytes, ElementsAre("photograph"));
    EXPECT_TRUE(value->own.empty());
    EXPECT_EQ(value->bytes[0].data(), record.data() + 512);
  }
  EXPECT_THAT(*ReadTexts(record, "txt"), ElementsAre(""));
  EXPECT_TRUE(absl::IsNotFound(ReadTexts(record, "jpg").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadTexts(record, "png;jpg").status()));
}

TEST(SampleParser, TheFirstAlternativeThatTheSampleHasCounts) {
  const std::string record = Sample({{"png", "png"}, {"json", R"({"a": null, "b": 5})"}, {"cls", "7"}});
  EXPECT_THAT(*ReadTexts(record, "jpg;png;cls"), ElementsAre("png"));
  EXPECT_THAT(*ReadInts(record, "json/a;json/c;json/b;cls"), ElementsAre(5));
  EXPECT_THAT(*ReadInts(record, "json/a;cls"), ElementsAre(7));
  EXPECT_THAT(*ReadInts(record, "cls;json/b"), ElementsAre(7));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadInts(record, "png;cls").status()));
}

TEST(SampleParser, TheKeyIsFolderAndNameUpToTheFirstDot) {
  EXPECT_THAT(*ReadTexts(Sample({{"cls", "1"}}, "v1.0/0001"), "__key__"), ElementsAre("v1.0/0001"));
  const std::string long_key(300, 'k');
  const std::string record = Sample({{"left.jpg", "1"}, {"right.jpg", "2"}}, long_key);
  EXPECT_THAT(*ReadTexts(record, "__key__"), ElementsAre(long_key));
  EXPECT_EQ(*KeyOfSample(record), long_key);
}

TEST(SampleParser, TextIsOneDecimalNumber) {
  const auto ints = [](const std::string& text) { return ReadInts(Sample({{"cls", text}}), "cls"); };
  EXPECT_THAT(*ints("7"), ElementsAre(7));
  EXPECT_THAT(*ints(" -12\n"), ElementsAre(-12));
  EXPECT_THAT(*ints("9223372036854775807"), ElementsAre(std::numeric_limits<int64_t>::max()));
  for (const char* text : {"", " ", "7 8", "7.0", "0x10", "seven", "9223372036854775808", "1e3", "7\xff"}) {
    const absl::Status status = ints(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_EQ(FaultOf(status), Fault::kWrongKind);
  }
  EXPECT_EQ(ints("seven").status().message(),
            "feature \"cls\" holds BYTES, but the job requests INT64: \"seven\" is no 64-bit decimal integer");

  const auto floats = [](const std::string& text) { return ReadFloats(Sample({{"score", text}}), "score"); };
  EXPECT_THAT(*floats("0.5\r\n"), ElementsAre(0.5f));
  EXPECT_THAT(*floats("-1e3"), ElementsAre(-1000.0f));
  EXPECT_THAT(*floats("7"), ElementsAre(7.0f));
  for (const char* text : {"", "nan", "inf", "0x1p3", "1,5", "1e39", "1 2"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(floats(text).status())) << text;
  }
}

TEST(SampleParser, NpyIntegersOfAnyWidth) {
  const auto ints = [](const std::string& descr, const std::string& data, const std::string& shape = "2,") {
    return ReadInts(Sample({{"label.npy", imports::Npy(descr, shape, data)}}), "label.npy");
  };
  EXPECT_THAT(*ints("|b1", std::string("\1\0", 2)), ElementsAre(1, 0));
  EXPECT_THAT(*ints("|i1", "\xff\x7f"), ElementsAre(-1, 127));
  EXPECT_THAT(*ints("|u1", "\xff\x7f"), ElementsAre(255, 127));
  EXPECT_THAT(*ints("<i2", ElementBytes<int16_t>({-2, 300})), ElementsAre(-2, 300));
  EXPECT_THAT(*ints("<u2", ElementBytes<uint16_t>({65535, 3})), ElementsAre(65535, 3));
  EXPECT_THAT(*ints("<i4", ElementBytes<int32_t>({-70000, 3})), ElementsAre(-70000, 3));
  EXPECT_THAT(*ints("<u4", ElementBytes<uint32_t>({4294967295, 3})), ElementsAre(4294967295, 3));
  EXPECT_THAT(*ints("<i8", ElementBytes<int64_t>({-5, int64_t{1} << 62})), ElementsAre(-5, int64_t{1} << 62));
  EXPECT_THAT(*ints("<u8", ElementBytes<uint64_t>({5, uint64_t{1} << 62})), ElementsAre(5, int64_t{1} << 62));
  EXPECT_THAT(*ints("<i4", ElementBytes<int32_t>({9}), ""), ElementsAre(9));
  EXPECT_THAT(*ints("<i4", ElementBytes<int32_t>({1, 2, 3, 4}), "2, 2"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(*ints("<i4", "", "0, 3"), IsEmpty());
  EXPECT_THAT(ints("<u8", ElementBytes<uint64_t>({5, uint64_t{1} << 63})).status().message(),
              HasSubstr("holds an integer over 2^63 - 1, but the job requests INT64"));
  EXPECT_EQ(ints("<f4", ElementBytes<float>({1, 2})).status().message(),
            "feature \"label.npy\" holds FLOAT (a NumPy array of f4), but the job requests INT64");
}

TEST(SampleParser, NpyFloats) {
  const auto floats = [](const std::string& descr, const std::string& data) {
    return ReadFloats(Sample({{"npy", imports::Npy(descr, "2,", data)}}), "npy");
  };
  EXPECT_THAT(*floats("<f2", ElementBytes<uint16_t>({0x3c00, 0xc100})), ElementsAre(1.0f, -2.5f));
  EXPECT_THAT(*floats("<f4", ElementBytes<float>({0.1f, -INFINITY})), ElementsAre(0.1f, -INFINITY));
  EXPECT_THAT(*floats("<f8", ElementBytes<double>({0.1, 1e300})), ElementsAre(0.1f, INFINITY));
  EXPECT_EQ(floats("<i4", ElementBytes<int32_t>({1, 2})).status().message(),
            "feature \"npy\" holds INT64 (a NumPy array of i4), but the job requests FLOAT");
}

TEST(SampleParser, NpyBytesAreTheElements) {
  const std::string data = imports::Bytes(24);
  for (const char* descr : {"<i4", "<f8", "<c8", "|u1"}) {
    const std::string shape = descr == std::string("|u1") ? "24," : descr == std::string("<i4") ? "2, 3" : "3,";
    EXPECT_THAT(*ReadTexts(Sample({{"npy", imports::Npy(descr, shape, data)}}), "npy"), ElementsAre(data)) << descr;
  }
  const std::string record = Sample({{"npy", imports::Npy("<i4", "6,", data)}});
  EXPECT_TRUE(ReadOne(record, {.key = "npy", .element_bytes = 8}).ok());
  const absl::Status odd = ReadOne(record, {.key = "npy", .element_bytes = 5}).status();
  EXPECT_THAT(odd.message(), HasSubstr("a value of 24 bytes is no whole number of elements of 5 bytes"));
  EXPECT_EQ(FaultOf(odd), Fault::kWrongShape);
}

TEST(SampleParser, RejectsOtherArrays) {
  const auto message = [](const std::string& npy) {
    return std::string(ReadOne(Sample({{"npy", npy}}), {.key = "npy"}).status().message());
  };
  const std::string data = imports::Bytes(8);
  EXPECT_THAT(message(imports::Npy(">i4", "2,", data)), HasSubstr("feature \"npy\": it is big-endian"));
  EXPECT_THAT(message(imports::Npy("|O", "1,", data)), HasSubstr("its elements are Python objects"));
  EXPECT_THAT(message(imports::Npy("[('a', '<i4')]", "2,", data)), HasSubstr("its elements have the type"));
  EXPECT_THAT(message(imports::Npy("<q8", "1,", data)), HasSubstr("its elements have the type \"<q8\""));
  EXPECT_EQ(message(imports::Npy("|S4", "2,", data)), "") << "text is a value for each element";
  EXPECT_THAT(message(imports::Npy("<i16", "1,", data)), HasSubstr("its elements have the type \"<i16\""));
  EXPECT_THAT(message(imports::Npy("<i3", "1,", data)), HasSubstr("its elements have the type \"<i3\""));
  EXPECT_THAT(message(imports::Npy("<i4", "1, 2", data, /*fortran=*/true)), HasSubstr("it is in Fortran order"));
  EXPECT_EQ(message(imports::Npy("<i4", "2,", data, /*fortran=*/true)), "");
  EXPECT_THAT(message(imports::Npy("<i4", "1,", data)), HasSubstr("1 elements of 4 bytes, but 8 bytes follow"));
  EXPECT_THAT(message(imports::Npy("<i4", "3,", data)), HasSubstr("3 elements of 4 bytes, but 8 bytes follow"));
  EXPECT_THAT(message(imports::Npy("<i4", "4294967296, 4294967296", data)), HasSubstr("it is cut off"));
  EXPECT_THAT(message(imports::Npy("<i4", "0, 4294967296", data)), HasSubstr("0 elements"));
  EXPECT_THAT(message("no array"), HasSubstr("no .npy header"));
}

TEST(SampleParser, JsonValuesOfEachKind) {
  const std::string record = JsonSample(R"({"i": -3, "t": true, "f": 0.25, "s": "a\u00e9\u0000", "null": null,
      "ints": [1, false, 3], "floats": [1, 2.5, 18446744073709551615], "texts": ["", "one", "two"], "none": [],
      "objects": [{"box": [1, 2]}, {"box": [3]}], "a/b": {"~": 1, "": 2}, "big": 9223372036854775807})");
  EXPECT_THAT(*ReadInts(record, "json/i"), ElementsAre(-3));
  EXPECT_THAT(*ReadInts(record, "json/t"), ElementsAre(1));
  EXPECT_THAT(*ReadInts(record, "JSON/big"), ElementsAre(std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(*ReadInts(record, "json/ints"), ElementsAre(1, 0, 3));
  EXPECT_THAT(*ReadInts(record, "json/ints/2"), ElementsAre(3));
  EXPECT_THAT(*ReadInts(record, "json/none"), IsEmpty());
  EXPECT_THAT(*ReadInts(record, "json/objects/1/box"), ElementsAre(3));
  EXPECT_THAT(*ReadInts(record, "json/objects/0/box/1"), ElementsAre(2));
  EXPECT_THAT(*ReadInts(record, "json/a~1b/~0"), ElementsAre(1));
  EXPECT_THAT(*ReadInts(record, "json/a~1b/"), ElementsAre(2));
  EXPECT_THAT(*ReadFloats(record, "json/f"), ElementsAre(0.25f));
  EXPECT_THAT(*ReadFloats(record, "json/floats"), ElementsAre(1.0f, 2.5f, 18446744073709551616.0f));
  EXPECT_THAT(*ReadTexts(record, "json/s"), ElementsAre(std::string("a\xc3\xa9\0", 4)));
  EXPECT_THAT(*ReadTexts(record, "json/texts"), ElementsAre("", "one", "two"));
  EXPECT_THAT(*ReadTexts(record, "json/none"), IsEmpty());
  for (const char* key : {"json/null", "json/absent", "json/i/deeper", "json/ints/3", "json/ints/02", "json/ints/-",
                          "json/objects/2/box", "json/S", "other.json/i"}) {
    EXPECT_TRUE(absl::IsNotFound(ReadInts(record, key).status())) << key;
  }
  EXPECT_THAT(*ReadInts(JsonSample("5"), "json"), ElementsAre(5));
  EXPECT_THAT(*ReadFloats(JsonSample("[0.5, 2]"), "json"), ElementsAre(0.5f, 2.0f));
  EXPECT_THAT(*ReadTexts(JsonSample("\"whole member\""), "json"), ElementsAre("\"whole member\""));
  EXPECT_THAT(*ReadTexts(JsonSample("no JSON"), "json"), ElementsAre("no JSON"));
}

TEST(SampleParser, JsonValuesOfAnotherKindAreErrors) {
  const std::string record = JsonSample(R"({"f": 3.0, "s": "text", "o": {}, "t": true, "mixed": [1, "two", {}],
      "deep": [[1]], "objects": [{}], "null": [1, null], "big": 9223372036854775808, "huge": 1e300})");
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  EXPECT_EQ(message(ReadInts(record, "json/f")), "feature \"json/f\" holds FLOAT (3.0), but the job requests INT64");
  EXPECT_EQ(message(ReadInts(record, "json/s")),
            "feature \"json/s\" holds BYTES (\"text\"), but the job requests INT64");
  EXPECT_THAT(message(ReadTexts(record, "json/f")), HasSubstr("holds FLOAT (3.0), but the job requests BYTES"));
  EXPECT_THAT(message(ReadTexts(record, "json/mixed")), HasSubstr("holds INT64 (1), but the job requests BYTES"));
  EXPECT_THAT(message(ReadInts(record, "json/mixed")), HasSubstr("holds BYTES (\"two\")"));
  EXPECT_THAT(message(ReadFloats(record, "json/t")), HasSubstr("holds true, but the job requests FLOAT"));
  EXPECT_THAT(message(ReadInts(record, "json/o")), HasSubstr("holds an object"));
  EXPECT_THAT(message(ReadInts(record, "json")), HasSubstr("holds an object"));
  EXPECT_THAT(message(ReadInts(record, "json/deep")), HasSubstr("holds an array of arrays"));
  EXPECT_THAT(message(ReadInts(record, "json/objects")), HasSubstr("holds an array of objects"));
  EXPECT_THAT(message(ReadInts(record, "json/null")), HasSubstr("holds null in an array"));
  EXPECT_THAT(message(ReadInts(record, "json/big")), HasSubstr("holds an integer over 2^63 - 1"));
  EXPECT_THAT(message(ReadFloats(record, "json/huge")), HasSubstr("holds a number over the range of a 32-bit float"));
  EXPECT_EQ(FaultOf(ReadInts(record, "json/f").status()), Fault::kWrongKind);
}

TEST(SampleParser, TheLastOfDuplicateJsonKeysWins) {
  EXPECT_THAT(*ReadInts(JsonSample(R"({"a": "text", "a": [1, 2], "a": 3})"), "json/a"), ElementsAre(3));
  EXPECT_THAT(*ReadInts(JsonSample(R"({"a": {"b": 1}, "a": {"b": 2}})"), "json/a/b"), ElementsAre(2));
  EXPECT_TRUE(absl::IsNotFound(ReadInts(JsonSample(R"({"a": {"b": 1}, "a": {}})"), "json/a/b").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadInts(JsonSample(R"({"a": 1, "a": null})"), "json/a").status()));
}

TEST(SampleParser, RejectsMalformedAndDeepJson) {
  for (const char* json :
       {"", "{", "{\"a\": 1} x", "[1,]", "{'a': 1}", "{\"a\": NaN}", "\"\xff\"", "1e999", "{\"a\": 01}"}) {
    const absl::Status status = ReadInts(JsonSample(json), "json/a").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
    EXPECT_THAT(status.message(), HasSubstr("feature \"json/a\": it is no JSON: error at byte ")) << json;
  }
  const auto nested = [](size_t depth) { return std::string(depth, '[') + "7" + std::string(depth, ']'); };
  std::string pointer = "json";
  for (size_t i = 0; i + 1 < kMaxJsonDepth; ++i) pointer += "/0";
  EXPECT_THAT(*ReadInts(JsonSample(nested(kMaxJsonDepth)), pointer), ElementsAre(7));
  for (const size_t depth : {kMaxJsonDepth + 1, size_t{1} << 20}) {
    EXPECT_THAT(ReadInts(JsonSample(nested(depth)), "json/a").status().message(),
                HasSubstr("its JSON nests more than 64 arrays and objects"));
  }
}

TEST(SampleParser, SeveralRequestsReadOneMember) {
  const auto parser = SampleParser::Create({{.key = "json/a", .kind = FeatureKind::kInt64},
                                            {.key = "json/a", .kind = FeatureKind::kFloat},
                                            {.key = "json/a", .kind = FeatureKind::kInt64},
                                            {.key = "json/s"},
                                            {.key = "json/s"},
                                            {.key = "json"},
                                            {.key = "cls", .kind = FeatureKind::kInt64},
                                            {.key = "cls"},
                                            {.key = "__key__"}});
  ASSERT_TRUE(parser.ok()) << parser.status();
  EXPECT_EQ(parser->requests().size(), 9);
  ParsedExample parsed;
  for (int i = 0; i < 3; ++i) {
    const std::string json = absl::StrCat("{\"a\": ", i, ", \"s\": [\"one\", \"", i, "\"]}");
    const std::string record = Sample({{"json", json}, {"cls", absl::StrCat(i)}});
    ASSERT_TRUE(parser->Parse(record, &parsed).ok());
    EXPECT_THAT(parsed[0].ints, ElementsAre(i));
    EXPECT_THAT(parsed[1].floats, ElementsAre(static_cast<float>(i)));
    EXPECT_THAT(parsed[2].ints, ElementsAre(i));
    EXPECT_THAT(parsed[3].bytes, ElementsAre("one", absl::StrCat(i)));
    EXPECT_THAT(parsed[4].bytes, ElementsAre("one", absl::StrCat(i)));
    EXPECT_THAT(parsed[5].bytes, ElementsAre(json));
    EXPECT_THAT(parsed[6].ints, ElementsAre(i));
    EXPECT_THAT(parsed[7].bytes, ElementsAre(absl::StrCat(i)));
    EXPECT_THAT(parsed[8].bytes, ElementsAre("train/0001"));
  }
  ASSERT_TRUE(parser->Parse(Sample({{"other", ""}}), &parsed).ok());
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(parsed[i].missing && parsed[i].count() == 0) << i;
}

TEST(SampleParser, RejectsRequestsThatItCannotAnswer) {
  const auto message = [](const FeatureRequest& request) {
    const auto parser = SampleParser::Create({request});
    EXPECT_TRUE(absl::IsInvalidArgument(parser.status())) << request.key;
    return std::string(parser.status().message());
  };
  for (const char* key : {"pyd", "pkl", "left.Pickle", "pth", "model.pt", "jpg;pkl"}) {
    EXPECT_THAT(message({.key = key}), HasSubstr("Penstock executes nothing")) << key;
  }
  EXPECT_THAT(message({.key = "jpg", .sequence = true}), HasSubstr("only a tf.train.SequenceExample has"));
  EXPECT_THAT(message({.key = "jpg", .kind = FeatureKind::kNone}), HasSubstr("feature \"jpg\" has no type"));
  EXPECT_THAT(message({.key = "npy", .kind = FeatureKind::kInt64, .element_bytes = 4}), HasSubstr("must be BYTES"));
  EXPECT_THAT(message({.key = "__key__", .kind = FeatureKind::kInt64}), HasSubstr("must be BYTES"));
  EXPECT_THAT(message({.key = "__url__"}), HasSubstr("only __key__ exists"));
  for (const char* key : {"", ";", "jpg;", ";jpg", "/label"})
    EXPECT_THAT(message({.key = key}), HasSubstr("names no member")) << key;
  EXPECT_THAT(message({.key = "txt/label"}), HasSubstr("does not end in json"));
  EXPECT_THAT(message({.key = "json/a~2"}), HasSubstr("neither \"~0\" nor \"~1\""));
  EXPECT_THAT(message({.key = "json/a~"}), HasSubstr("neither \"~0\" nor \"~1\""));
  std::string deep = "json";
  for (size_t i = 0; i <= kMaxJsonDepth; ++i) deep += "/a";
  EXPECT_THAT(message({.key = deep}), HasSubstr("has more than 64 names"));
}

TEST(SampleParser, RejectsDuplicateExtensionsAndOtherRecords) {
  const std::string twice = Sample({{"cls", "1"}, {"JPG", "a"}, {"jpg", "b"}});
  EXPECT_EQ(ReadInts(twice, "cls").status(),
            absl::InvalidArgumentError("the sample has two members with the extension \"jpg\""));
  EXPECT_TRUE(absl::IsInvalidArgument(ListMembers(twice).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(KeyOfSample(twice).status()));
  EXPECT_THAT(ReadInts("", "cls").status().message(), HasSubstr("the record is no sample"));
  EXPECT_THAT(ReadInts(sources::TarHeader("folder", 0, '5'), "cls").status().message(),
              HasSubstr("the record is no sample"));
  EXPECT_THAT(ReadInts(std::string(512, 'x'), "cls").status().message(), HasSubstr("no tar header"));
}

TEST(SampleParser, CountsTheValuesAgainstTheLimit) {
  const std::string npy = Sample({{"npy", imports::Npy("|u1", "100,", imports::Bytes(100))}});
  const FeatureRequest ints{.key = "npy", .kind = FeatureKind::kInt64};
  EXPECT_TRUE(ReadOne(npy, ints, {.max_value_bytes = 800}).ok());
  const absl::Status over = ReadOne(npy, ints, {.max_value_bytes = 799}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(over)) << over;
  EXPECT_EQ(FaultOf(over), Fault::kOverLimit);
  EXPECT_THAT(over.message(), HasSubstr("feature \"npy\": the record's values take more than the limit of 799 bytes"));
  const std::string json = JsonSample(R"(["one", "two"])");
  EXPECT_TRUE(ReadOne(JsonSample(R"({"a": ["one", "two"]})"), {.key = "json/a"}, {.max_value_bytes = 38}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      ReadOne(JsonSample(R"({"a": ["one", "two"]})"), {.key = "json/a"}, {.max_value_bytes = 37}).status()));
  EXPECT_TRUE(ReadOne(json, {.key = "json"}, {.max_value_bytes = 16}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(ReadOne(json, {.key = "json"}, {.max_value_bytes = 15}).status()));
}

TEST(SampleParser, ListsMembersForDisplay) {
  const std::string record = Sample({{"txt", "12"},
                                     {"cls", "7\n"},
                                     {"a.npy", imports::Npy("<i4", "3,", ElementBytes<int32_t>({5, -1, 2}))},
                                     {"b.npy", imports::Npy("<f4", "2,", imports::Bytes(8))},
                                     {"c.npy", "no array"},
                                     {"id", "x7"}});
  const auto members = ListMembers(record);
  ASSERT_TRUE(members.ok()) << members.status();
  std::vector<std::string> lines;
  for (const FeatureInfo& info : *members) {
    lines.push_back(absl::StrCat(info.key, " ", std::string(FeatureKindName(info.kind)), " ", info.count, " ",
                                 info.least, " ", info.most, " ", std::string(info.first_bytes)));
  }
  EXPECT_THAT(lines, ElementsAre("a.npy INT64 3 -1 5 ", "b.npy FLOAT 2 0 0 ", "c.npy BYTES 1 0 0 no array",
                                 "cls INT64 1 7 7 ", "id BYTES 1 0 0 x7", "txt BYTES 1 0 0 12"));
}

TEST(SampleParser, ThreadsShareAParser) {
  const auto parser = SampleParser::Create({{.key = "json/a", .kind = FeatureKind::kInt64}, {.key = "txt"}});
  ASSERT_TRUE(parser.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string record = Sample({{"json", absl::StrCat("{\"a\": ", t, "}")}, {"txt", absl::StrCat(t)}});
      ParsedExample parsed;
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(parser->Parse(record, &parsed).ok());
        ASSERT_THAT(parsed[0].ints, ElementsAre(t));
        ASSERT_THAT(parsed[1].bytes, ElementsAre(absl::StrCat(t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SampleParser, RandomSamplesAreReadBack) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> ints(random() % 5);
    for (int64_t& value : ints) value = static_cast<int32_t>(random());
    std::string raw(random() % 1500, '\0'), json = "{\"ints\": [";
    for (char& c : raw) c = static_cast<char>(random());
    for (size_t i = 0; i < ints.size(); ++i) absl::StrAppend(&json, i == 0 ? "" : ", ", ints[i]);
    json += "]}";
    const std::string shape = absl::StrCat(ints.size(), ",");
    SampleMembers members = {{"raw", raw}, {"json", json}, {"npy", imports::Npy("<i8", shape, ElementBytes(ints))}};
    std::shuffle(members.begin(), members.end(), random);
    const std::string record = Sample(members, std::string(random() % 200, 'f') + "/k");
    EXPECT_THAT(*ReadTexts(record, "raw"), ElementsAre(raw));
    EXPECT_EQ(*ReadInts(record, "json/ints"), ints);
    EXPECT_EQ(*ReadInts(record, "npy"), ints);
  }
}

}  // namespace
}  // namespace penstock::records
