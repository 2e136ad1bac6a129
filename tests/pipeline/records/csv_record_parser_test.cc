#include "pipeline/records/csv_record_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "pipeline/records/csv_fields.h"
#include "pipeline/records/record_example.h"
#include "pipeline/records/record_parser.h"

namespace penstock::records {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<FeatureValue> ValueIn(const std::string& record, const FeatureRequest& request,
                                     RecordFormat format = RecordFormat::kCsv) {
  const auto parser = RecordParser::Create({request}, {.format = format});
  if (!parser.ok()) return parser.status();
  ParsedExample values;
  const absl::Status parsed = parser->Parse(record, &values);
  if (!parsed.ok()) return parsed;
  return values[0];
}

std::string ErrorOf(const std::string& record, const FeatureRequest& request = {.key = "x"}) {
  const absl::Status status = ValueIn(record, request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

std::vector<std::string> Texts(const FeatureValue& value) { return {value.bytes.begin(), value.bytes.end()}; }

TEST(CsvRecordParser, AFieldIsTheTextBetweenDelimitersOrQuotes) {
  const auto text = [](const std::string& record, const std::string& key = "x",
                       RecordFormat format = RecordFormat::kCsv) {
    ParsedExample values;
    const auto parser = RecordParser::Create({{.key = key}}, {.format = format});
    EXPECT_TRUE(parser->Parse(record, &values).ok()) << record;
    EXPECT_FALSE(values[0].missing);
    return std::string(values[0].bytes.at(0));
  };
  EXPECT_EQ(text("a,x,b\n1, two ,3"), " two ");
  EXPECT_EQ(text("a,x\n1,"), "");
  EXPECT_EQ(text("x\n"), "");
  EXPECT_EQ(text("x,a\n\"one,\r\ntwo\",2"), "one,\r\ntwo");
  EXPECT_EQ(text("x,a\n\"say \"\"so\"\"\",2"), "say \"so\"");
  EXPECT_EQ(text("x,a\n5\" wide,2"), "5\" wide") << "a quote inside of a field is data";
  EXPECT_EQ(text("\"x\",a\n\"\",2"), "");
  EXPECT_EQ(text("\"a \"\"b\"\",c\",x\n1,2", "a \"b\",c"), "1");
  EXPECT_EQ(text("x\ta,b\n1,2\t3", "x", RecordFormat::kTsv), "1,2");
  EXPECT_EQ(text("x\ta\n\"1\t2\"\t3", "x", RecordFormat::kTsv), "1\t2");
  EXPECT_EQ(text("\xFF,x\n\xFE,\xFF", "\xFF"), "\xFE") << "bytes need not be UTF-8";
}

TEST(CsvRecordParser, NumbersAreThoseOfTheFieldWithoutSpacesAroundIt) {
  const auto integer = [](const std::string& field) {
    return ValueIn("x\n" + field, {.key = "x", .kind = FeatureKind::kInt64})->ints;
  };
  EXPECT_THAT(integer("7"), ElementsAre(7));
  EXPECT_THAT(integer(" -7 "), ElementsAre(-7));
  EXPECT_THAT(integer("+7"), ElementsAre(7));
  EXPECT_THAT(integer("007"), ElementsAre(7));
  EXPECT_THAT(integer("\"7\""), ElementsAre(7));
  EXPECT_THAT(integer("-9223372036854775808"), ElementsAre(INT64_MIN));
  EXPECT_THAT(integer(""), IsEmpty());
  EXPECT_THAT(integer("  "), IsEmpty());
  const auto number = [](const std::string& field) {
    return ValueIn("x\n" + field, {.key = "x", .kind = FeatureKind::kFloat})->floats;
  };
  EXPECT_THAT(number("0.1"), ElementsAre(0.1f));
  EXPECT_THAT(number("-1e-3"), ElementsAre(-0.001f));
  EXPECT_THAT(number("+.5"), ElementsAre(0.5f));
  EXPECT_THAT(number("16777217"), ElementsAre(16777216.0f));
  EXPECT_THAT(number("1e-60"), ElementsAre(0.0f));
  EXPECT_THAT(number("-inf"), ElementsAre(-INFINITY));
  EXPECT_TRUE(std::isnan(number("nan")[0]));
  EXPECT_TRUE(ValueIn("x\n", {.key = "x", .kind = FeatureKind::kFloat})->missing);
  EXPECT_TRUE(ValueIn("x\n1", {.key = "y"})->missing);
}

TEST(CsvRecordParser, AnErrorNamesTheColumnTheFieldAndTheOffset) {
  const FeatureRequest integer{.key = "x", .kind = FeatureKind::kInt64},
      number{.key = "x", .kind = FeatureKind::kFloat};
  EXPECT_EQ(ErrorOf("a,x\n12,cat", integer),
            "feature \"x\" holds \"cat\" at offset 3 of the row, but the job requests INT64");
  for (const char* field : {"1.5", "1 2", "0x1", "9223372036854775808", "--1", "+-1", "+"}) {
    EXPECT_THAT(ErrorOf(std::string("x\n") + field, integer), HasSubstr("at offset 0 of the row")) << field;
  }
  for (const char* field : {"1,5", "1.5.2", "0x1p3", "cat", "+"}) {
    EXPECT_FALSE(ValueIn(std::string("x\n") + field, number).ok()) << field;
  }
  EXPECT_THAT(ErrorOf("x\n1e39", number), HasSubstr("a number over the range of a 32-bit float, \"1e39\""));
  EXPECT_EQ(ErrorOf("a,x\n1"), "the row has 1 field, but the first row of the file names 2 columns");
  EXPECT_EQ(ErrorOf("x\n1,2,3"), "the row has 3 fields, but the first row of the file names 1 column");
  EXPECT_THAT(ErrorOf("x,a\n1,\"2"), HasSubstr("no CSV: a quote without an end at offset 2"));
  EXPECT_THAT(ErrorOf("x,a\n1,\"2\"3"), HasSubstr("no CSV: bytes after a quoted field at offset 5"));
  EXPECT_THAT(ErrorOf("x,a\n1,2\r3"), HasSubstr("no CSV: a carriage return outside of quotes at offset 3"));
  EXPECT_THAT(ErrorOf("x,a\n1,2\n3,4"), HasSubstr("an end of a line outside of quotes"));
  EXPECT_EQ(ErrorOf("x,a,x\n1,2,3"), "feature \"x\": the first row of the file names this column twice");
  EXPECT_TRUE(ValueIn("x,a,a\n1,2,3", {.key = "x"}).ok()) << "only columns of requests must differ";
  const auto small = CsvRecordParser::Create({{.key = "x"}}, {.format = RecordFormat::kCsv, .max_value_bytes = 20});
  ParsedExample values;
  EXPECT_TRUE(small->Parse("x\n" + std::string(1000, 'y'), &values).ok()) << "it stays in the record";
  EXPECT_TRUE(absl::IsResourceExhausted(small->Parse("x\n\"" + std::string(1000, 'y') + "\"\"\"", &values)));
  EXPECT_THAT(std::string(CsvRecordParser::Create({{.key = "x", .sequence = true}}, {}).status().message()),
              HasSubstr("is a feature list"));
}

TEST(CsvRecordParser, AnyTableThatIsWrittenWithQuotesReadsBack) {
  std::mt19937 random(5);
  const std::string alphabet = "ab,\t\"\n\r 1.";
  for (int round = 0; round < 500; ++round) {
    const char delimiter = round % 2 == 0 ? ',' : '\t';
    const size_t columns = 1 + random() % 6;
    std::vector<std::string> contents;
    std::string record, names;
    std::vector<FeatureRequest> requests;
    for (size_t column = 0; column < columns; ++column) {
      std::string content, quoted = "\"";
      for (size_t i = random() % 9; i > 0; --i) {
        content += alphabet[random() % alphabet.size()];
        quoted += content.back();
        if (content.back() == '"') quoted += '"';
      }
      const bool plain = content.find_first_of(",\t\"\n\r") == std::string::npos && random() % 2 == 0;
      const std::string name = "c" + std::to_string(column);
      names += (column == 0 ? "" : std::string(1, delimiter)) + name;
      record += (column == 0 ? "" : std::string(1, delimiter)) + (plain ? content : quoted + "\"");
      contents.push_back(content);
      requests.push_back({.key = name});
    }
    const RecordFormat format = delimiter == ',' ? RecordFormat::kCsv : RecordFormat::kTsv;
    ParsedExample values;
    const auto parser = RecordParser::Create(requests, {.format = format});
    record = names + "\n" + record;
    ASSERT_TRUE(parser->Parse(record, &values).ok()) << record;
    for (size_t column = 0; column < columns; ++column) {
      ASSERT_THAT(Texts(values[column]), ElementsAre(contents[column])) << record;
    }
    EXPECT_EQ(ListValues(record, format)->size(), columns);
  }
}

// A thread keeps the first row of the last record.
TEST(CsvRecordParser, EachRecordHasItsOwnNamesWhateverTheOneBeforeHad) {
  const auto x = RecordParser::Create({{.key = "x"}}, {.format = RecordFormat::kCsv});
  const auto y = RecordParser::Create({{.key = "y"}, {.key = "x"}}, {.format = RecordFormat::kCsv});
  const auto tsv = RecordParser::Create({{.key = "x"}}, {.format = RecordFormat::kTsv});
  const auto text = [](const auto& parser, const std::string& record) {
    ParsedExample values;
    const absl::Status parsed = parser->Parse(record, &values);
    if (!parsed.ok()) return std::string(parsed.message());
    return values[0].missing ? std::string("missing") : std::string(values[0].bytes.at(0));
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(text(x, "x,y\n1,2"), "1");
    EXPECT_EQ(text(y, "x,y\n1,2"), "2");
    EXPECT_EQ(text(x, "y,x\n3,4"), "4");
    EXPECT_EQ(text(x, "y,x\n5,6"), "6");
    EXPECT_EQ(text(x, "y,xx\n5,6"), "missing");
    EXPECT_EQ(text(x, "x\n7"), "7");
    EXPECT_EQ(text(tsv, "x\n7,8"), "7,8");
    EXPECT_THAT(text(x, "x,x\n1,2"), HasSubstr("names this column twice"));
    EXPECT_THAT(text(x, "x,y\n1"), HasSubstr("the row has 1 field, but the first row of the file names 2 columns"));
    EXPECT_THAT(text(x, "x,y\n1,2\n"), HasSubstr("an end of a line outside of quotes"));
    EXPECT_EQ(text(x, "x,\"y\n\"\n1,2"), "1");
    EXPECT_THAT(text(x, "x,\"y\n1,2"), HasSubstr("a quote without an end"));
  }
}

TEST(CsvRecordParser, TheListGuessesKindsThatLoseNothing) {
  const auto listed = ListCsvColumns("i,f,t,e,zip,q\n-3,0.5,cat,,01234,\"a\"\"b\"", RecordFormat::kCsv).value();
  const auto kind = [](const std::string& field) {
    return ListCsvColumns("x\n" + field, RecordFormat::kCsv)->at(0).kind;
  };
  for (const char* lossy : {"12345678901234567890", "-007", "+4915", "00", "-0123"}) {
    EXPECT_EQ(kind(lossy), FeatureKind::kBytes) << lossy;
  }
  for (const char* integer : {"0", "-1", " 7 ", "9223372036854775807"}) {
    EXPECT_EQ(kind(integer), FeatureKind::kInt64) << integer;
  }
  for (const char* number : {"+1.5", "1e9", "0.10", "-inf"}) EXPECT_EQ(kind(number), FeatureKind::kFloat) << number;
  std::vector<FeatureKind> kinds;
  for (const FeatureInfo& info : listed) kinds.push_back(info.kind);
  EXPECT_THAT(kinds, ElementsAre(FeatureKind::kInt64, FeatureKind::kFloat, FeatureKind::kBytes, FeatureKind::kNone,
                                 FeatureKind::kBytes, FeatureKind::kBytes));
  EXPECT_EQ(listed[0].least, -3);
  EXPECT_EQ(listed[3].count, 0u);
  EXPECT_EQ(CommonKind(RecordFormat::kCsv, FeatureKind::kInt64, FeatureKind::kBytes), FeatureKind::kBytes);
  EXPECT_EQ(CommonKind(RecordFormat::kTsv, FeatureKind::kInt64, FeatureKind::kFloat), FeatureKind::kFloat);
  EXPECT_EQ(CommonKind(RecordFormat::kJson, FeatureKind::kInt64, FeatureKind::kFloat), FeatureKind::kFloat);
  EXPECT_EQ(CommonKind(RecordFormat::kJson, FeatureKind::kInt64, FeatureKind::kBytes), FeatureKind::kNone);
  EXPECT_EQ(CommonKind(RecordFormat::kExample, FeatureKind::kInt64, FeatureKind::kFloat), FeatureKind::kNone);
  EXPECT_EQ(CommonKind(RecordFormat::kExample, FeatureKind::kBytes, FeatureKind::kBytes), FeatureKind::kBytes);
}

TEST(CsvRecordParser, AnExampleHasTheTextOfEachColumn) {
  const std::string example = ExampleOfRow("a,b\n7,\"x\"\"y\"", RecordFormat::kCsv).value();
  const auto parser = ExampleParser::Create({{.key = "a"}, {.key = "b"}});
  ParsedExample values;
  ASSERT_TRUE(parser->Parse(example, &values).ok());
  EXPECT_THAT(Texts(values[0]), ElementsAre("7"));
  EXPECT_THAT(Texts(values[1]), ElementsAre("x\"y"));
}

}  // namespace
}  // namespace penstock::records
