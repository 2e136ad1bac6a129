#include "pipeline/records/json_record_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
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
#include "pipeline/records/json_path.h"
#include "pipeline/records/record_example.h"

namespace penstock::records {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Parses one feature of a record. The strings are copies.
absl::StatusOr<std::vector<std::string>> ReadTexts(const std::string& record, const std::string& key) {
  PS_ASSIGN_OR_RETURN(const JsonRecordParser parser, JsonRecordParser::Create({{.key = key}}));
  ParsedExample parsed;
  PS_RETURN_IF_ERROR(parser.Parse(record, &parsed));
  if (parsed[0].missing) return absl::NotFoundError("missing");
  return std::vector<std::string>(parsed[0].bytes.begin(), parsed[0].bytes.end());
}

absl::StatusOr<std::vector<int64_t>> ReadInts(const std::string& record, const std::string& key) {
  PS_ASSIGN_OR_RETURN(const JsonRecordParser parser,
                      JsonRecordParser::Create({{.key = key, .kind = FeatureKind::kInt64}}));
  ParsedExample parsed;
  PS_RETURN_IF_ERROR(parser.Parse(record, &parsed));
  if (parsed[0].missing) return absl::NotFoundError("missing");
  return std::move(parsed[0].ints);
}

absl::StatusOr<std::vector<float>> ReadFloats(const std::string& record, const std::string& key) {
  PS_ASSIGN_OR_RETURN(const JsonRecordParser parser,
                      JsonRecordParser::Create({{.key = key, .kind = FeatureKind::kFloat}}));
  ParsedExample parsed;
  PS_RETURN_IF_ERROR(parser.Parse(record, &parsed));
  if (parsed[0].missing) return absl::NotFoundError("missing");
  return std::move(parsed[0].floats);
}

std::string ErrorOf(const absl::Status& status) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(JsonRecordParser, APathLeadsToAValue) {
  const std::string record =
      R"({"text": "hello", "meta": {"lang": "en", "n": [4, 5], "boxes": [[1, 2], [3, 4]]}, "a.b": 1, "a\\b": {"c": 2}})";
  EXPECT_THAT(*ReadTexts(record, "text"), ElementsAre("hello"));
  EXPECT_THAT(*ReadTexts(record, "meta.lang"), ElementsAre("en"));
  EXPECT_THAT(*ReadInts(record, "meta.n"), ElementsAre(4, 5));
  EXPECT_THAT(*ReadInts(record, "meta.n.1"), ElementsAre(5));
  EXPECT_THAT(*ReadInts(record, "meta.boxes.1"), ElementsAre(3, 4));
  EXPECT_THAT(*ReadInts(record, "meta.boxes.1.0"), ElementsAre(3));
  EXPECT_THAT(*ReadInts(record, "a\\.b"), ElementsAre(1));
  EXPECT_THAT(*ReadInts(record, "a\\\\b.c"), ElementsAre(2));
  for (const char* key : {"none", "meta.none", "text.none", "meta.n.2", "meta.boxes.1.2", "a.b"}) {
    EXPECT_TRUE(absl::IsNotFound(ReadInts(record, key).status())) << key;
  }
}

TEST(JsonRecordParser, EachKindAcceptsItsValues) {
  EXPECT_THAT(*ReadInts(R"({"a": -9223372036854775808})", "a"), ElementsAre(INT64_MIN));
  EXPECT_THAT(*ReadInts(R"({"a": [true, false, 3]})", "a"), ElementsAre(1, 0, 3));
  EXPECT_THAT(*ReadInts(R"({"a": []})", "a"), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(ReadInts(R"({"a": null})", "a").status()));
  EXPECT_THAT(*ReadFloats(R"({"a": [1, 0.1, 1e-400, 123456789012345678901234567890]})", "a"),
              ElementsAre(1.0f, 0.1f, 0.0f, 123456789012345678901234567890.0f));
  EXPECT_THAT(*ReadTexts(R"({"a": ["", "\u00e9\n", "é", "\ud83d\ude00", "\\"]})", "a"),
              ElementsAre("", "é\n", "é", "\xF0\x9F\x98\x80", "\\"));
  EXPECT_THAT(*ReadTexts(R"({"a" : { "b" : [1,  2 ] } , "c": 1})", "a"), ElementsAre(R"({ "b" : [1,  2 ] })"));
  EXPECT_THAT(*ReadTexts(R"({"a": [[1], "b"] })", "a"), ElementsAre(R"([[1], "b"])"));
  EXPECT_THAT(*ReadTexts(R"({"a": {}})", "a"), ElementsAre("{}"));
}

TEST(JsonRecordParser, AValueOfAnotherKindIsNamedWithItsPlace) {
  EXPECT_EQ(ErrorOf(ReadInts(R"({"b": 1, "a": 1.5})", "a").status()),
            "feature \"a\" holds FLOAT (1.5) at offset 14 of the line, but the job requests INT64");
  EXPECT_THAT(ErrorOf(ReadInts(R"({"a": 9223372036854775808})", "a").status()),
              HasSubstr("holds an integer out of the range of INT64 (9223372036854775808) at offset 6"));
  EXPECT_THAT(ErrorOf(ReadInts(R"({"a": "7"})", "a").status()), HasSubstr("holds BYTES (\"7\") at offset 6"));
  EXPECT_THAT(ErrorOf(ReadInts(R"({"a": [1, null]})", "a").status()), HasSubstr("holds null in an array at offset 10"));
  EXPECT_THAT(ErrorOf(ReadInts(R"({"a": [[1]]})", "a").status()), HasSubstr("an array of arrays or objects"));
  EXPECT_THAT(ErrorOf(ReadInts(R"({"a": {"b": 1}})", "a").status()), HasSubstr("holds an object at offset 6"));
  EXPECT_THAT(ErrorOf(ReadFloats(R"({"a": true})", "a").status()), HasSubstr("holds true at offset 6"));
  EXPECT_THAT(ErrorOf(ReadFloats(R"({"a": 1e39})", "a").status()), HasSubstr("over the range of a 32-bit float"));
  EXPECT_THAT(ErrorOf(ReadTexts(R"({"a": [12, 3]})", "a").status()), HasSubstr("holds INT64 (12) at offset 7"));
  EXPECT_EQ(FaultOf(ReadInts(R"({"a": 1.5})", "a").status()), Fault::kWrongKind);
}

TEST(JsonRecordParser, ALineThatIsNoJsonObjectIsRejectedWithItsPlace) {
  const std::pair<std::string, std::string> lines[] = {
      {"", "invalid JSON at offset 0"},
      {"  [1]", "no JSON object at offset 2"},
      {" \"a\"", "no JSON object at offset 1"},
      {"12", "no JSON object at offset 0"},
      {R"({"a": 1)", "invalid JSON at offset 7"},
      {R"({"a": 01})", "invalid JSON at offset 7"},
      {R"({"a": 1} x)", "invalid JSON at offset 9"},
      {R"({"a": 1}{"b": 2})", "invalid JSON at offset 8"},
      {R"({"a": tru})", "invalid JSON at offset 9"},
      {R"({"a": 1, "b": NaN})", "invalid JSON at offset 14"},
      {R"({"b": "x)", "invalid JSON at offset 8"},
      {R"({"b": "\ud800"})", "invalid JSON at offset"},
      {"{\"b\": \"\xff\"}", "invalid UTF-8 at offset 7"},
      {"{\"b\": \"\xed\xa0\x80\"}", "invalid UTF-8 at offset 7"},
      {"{\"b\": \"a\tb\"}", "invalid JSON at offset 8"},
  };
  for (const auto& [line, message] : lines) {
    EXPECT_THAT(ErrorOf(ReadInts(line, "a").status()), HasSubstr(message)) << line;
    EXPECT_FALSE(ListJsonValues(line).ok()) << line;
  }
}

TEST(JsonRecordParser, TheLastOfEqualNamesCounts) {
  EXPECT_THAT(*ReadInts(R"({"a": 1, "a": 2})", "a"), ElementsAre(2));
  EXPECT_THAT(*ReadInts(R"({"a": "no number", "a": [2, 3]})", "a"), ElementsAre(2, 3));
  EXPECT_TRUE(absl::IsNotFound(ReadInts(R"({"a": {"b": 1}, "a": {"c": 1}})", "a.b").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadInts(R"({"a": 1, "a": null})", "a").status()));
  EXPECT_THAT(*ReadTexts(R"({"a": "\n", "a": "b\t"})", "a"), ElementsAre("b\t"));
}

TEST(JsonRecordParser, SeveralRequestsReadOneRecord) {
  const auto parser = JsonRecordParser::Create({{.key = "m"},
                                                {.key = "m.x", .kind = FeatureKind::kInt64},
                                                {.key = "m.y"},
                                                {.key = "m.x", .kind = FeatureKind::kFloat}});
  ASSERT_TRUE(parser.ok()) << parser.status();
  ParsedExample values;
  const std::string record = R"({"m": {"x": 3, "y": "a\"b"}})";
  ASSERT_TRUE(parser->Parse(record, &values).ok());
  EXPECT_THAT(values[0].bytes, ElementsAre(R"({"x": 3, "y": "a\"b"})"));
  EXPECT_THAT(values[1].ints, ElementsAre(3));
  EXPECT_THAT(values[2].bytes, ElementsAre("a\"b"));
  EXPECT_THAT(values[3].floats, ElementsAre(3.0f));
  ASSERT_TRUE(parser->Parse("{}", &values).ok());
  for (const FeatureValue& value : values) EXPECT_TRUE(value.missing);
}

TEST(JsonRecordParser, TextsWithoutEscapesAreInTheRecord) {
  const std::string record = R"({"a": "text", "b": "esc\\aped"})";
  const auto parser = JsonRecordParser::Create({{.key = "a"}, {.key = "b"}});
  ParsedExample values;
  ASSERT_TRUE(parser->Parse(record, &values).ok());
  EXPECT_EQ(values[0].bytes[0].data(), record.data() + record.find("text"));
  EXPECT_THAT(values[0].own, IsEmpty());
  EXPECT_EQ(values[1].bytes[0].data(), values[1].own.data());
}

TEST(JsonRecordParser, NestingIsLimited) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(ListJsonValues(nested(64)).ok());
  EXPECT_THAT(ErrorOf(ListJsonValues(nested(65)).status()), HasSubstr("more than 64 nested arrays and objects"));
  EXPECT_THAT(ErrorOf(ListJsonValues(nested(100000)).status()), HasSubstr("more than 64 nested arrays and objects"));
}

TEST(JsonRecordParser, CountsTheValuesAgainstTheLimit) {
  const auto parser = JsonRecordParser::Create({{.key = "a", .kind = FeatureKind::kInt64}}, {.max_value_bytes = 24});
  ParsedExample values;
  EXPECT_TRUE(parser->Parse(R"({"a": [1, 2, 3]})", &values).ok());
  const absl::Status over = parser->Parse(R"({"a": [1, 2, 3, 4]})", &values);
  EXPECT_TRUE(absl::IsResourceExhausted(over)) << over;
  EXPECT_THAT(std::string(over.message()),
              HasSubstr("feature \"a\": the record's values take more than the limit of 24"));
}

TEST(JsonRecordParser, RejectsRequestsThatItCannotAnswer) {
  for (const FeatureRequest& request :
       {FeatureRequest{.key = "a\\b"}, FeatureRequest{.key = "a\\"},
        FeatureRequest{.key = "a", .kind = FeatureKind::kNone}, FeatureRequest{.key = "a", .sequence = true},
        FeatureRequest{.key = "a", .kind = FeatureKind::kInt64, .element_bytes = 4}}) {
    const auto parser = JsonRecordParser::Create({request});
    EXPECT_THAT(ErrorOf(parser.status()), HasSubstr("feature \"a")) << request.key;
  }
}

TEST(JsonRecordParser, ALongLineAfterAShortOneAndBack) {
  std::string text(3 << 20, 'x');
  text[text.size() / 2] = '\'';
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(*ReadTexts(R"({"a": "short"})", "a"), ElementsAre("short"));
    EXPECT_THAT(*ReadTexts(absl::StrCat("{\"a\": \"", text, "\"}"), "a"), ElementsAre(text));
  }
}

TEST(JsonRecordParser, ReadsNothingAfterTheRecord) {
  const std::string line = R"({"a": "text", "b": [1, 2]})";
  for (size_t length = 0; length <= line.size(); ++length) {
    const auto exact = std::make_unique<char[]>(length);  // a sanitizer sees a read after it
    std::copy_n(line.data(), length, exact.get());
    EXPECT_EQ(ListJsonValues({exact.get(), length}).ok(), length == line.size());
  }
}

TEST(JsonRecordParser, ThreadsShareAParser) {
  const auto parser = JsonRecordParser::Create({{.key = "a"}, {.key = "b", .kind = FeatureKind::kInt64}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&parser, t] {
      ParsedExample values;
      for (int i = 0; i < 200; ++i) {
        const std::string record = absl::StrCat("{\"a\": \"\\n", t, "-", i, "\", \"b\": ", i, "}");
        ASSERT_TRUE(parser->Parse(record, &values).ok());
        ASSERT_EQ(values[0].bytes[0], absl::StrCat("\n", t, "-", i));
        ASSERT_EQ(values[1].ints[0], i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string Listed(const std::string& record) {
  const auto values = ListJsonValues(record);
  EXPECT_TRUE(values.ok()) << values.status();
  std::string out;
  for (const FeatureInfo& value : *values) {
    absl::StrAppend(&out, value.key, ":", std::string(FeatureKindName(value.kind)), "*", value.count, " ");
  }
  return out;
}

TEST(ListJsonValues, GivesEachValueWithItsPath) {
  EXPECT_EQ(Listed(R"({"t": "x", "n": 3, "f": 1.5, "big": 9223372036854775808, "z": null, "m": {"b": true, "o": {}}})"),
            "big:FLOAT*1 f:FLOAT*1 m.b:INT64*1 n:INT64*1 t:BYTES*1 ");
  EXPECT_EQ(Listed(R"({"i": [1, 2], "f": [1, 2.5, 3], "s": ["a"], "e": [], "o": [{"x": 1}], "a": [[1]], "d.o\\t": 1})"),
            "a:BYTES*1 d\\.o\\\\t:INT64*1 e:none*0 f:FLOAT*3 i:INT64*2 o:BYTES*1 s:BYTES*1 ");
  EXPECT_EQ(Listed(R"({"a": {"b": 1}, "a": 2, "c": 1, "c": {"d": "x"}})"), "a:INT64*1 c.d:BYTES*1 ");
  const auto values = ListJsonValues(R"({"n": [4, -2, 7], "m": {"x": 1}})");
  EXPECT_EQ((*values)[1].least, -2);
  EXPECT_EQ((*values)[1].most, 7);
  for (const char* key : {"n", "n.0", "m", "m.x"}) EXPECT_TRUE(HasJsonPath(*values, key)) << key;
  for (const char* key : {"nn", "m.y", "x"}) EXPECT_FALSE(HasJsonPath(*values, key)) << key;
}

TEST(JsonPath, SplitsWhatJoinMakes) {
  std::string path;
  const std::vector<std::string> names = {"a", "b.c", "d\\", "", ".", "é"};
  for (const std::string& name : names) path = JoinJsonPath(path, name);
  EXPECT_EQ(path, "a.b\\.c.d\\\\..\\..é");
  EXPECT_EQ(*SplitJsonPath(path), names);
}

TEST(ExampleOfJson, HasAFeatureForEachValue) {
  const auto example = ExampleOfJson(R"({"t": "a\nb", "m": {"n": [1, 2]}, "f": 0.5, "z": null, "e": []})");
  ASSERT_TRUE(example.ok()) << example.status();
  const auto features = ListFeatures(*example, RecordFormat::kExample);
  ASSERT_EQ(features->size(), 3u);
  EXPECT_EQ((*features)[0].key, "f");
  EXPECT_EQ((*features)[1].key, "m.n");
  EXPECT_EQ((*features)[1].count, 2u);
  EXPECT_EQ((*features)[2].first_bytes, "a\nb");
}

}  // namespace
}  // namespace penstock::records
