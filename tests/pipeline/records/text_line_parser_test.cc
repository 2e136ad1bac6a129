#include "pipeline/records/text_line_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pipeline/records/record_example.h"
#include "pipeline/records/record_parser.h"

namespace penstock::records {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TextLineParser, TheWholeLineIsTheOneFeature) {
  const auto parser = RecordParser::Create({{.key = "line"}, {.key = "other", .kind = FeatureKind::kInt64}},
                                           {.format = RecordFormat::kLine});
  ASSERT_TRUE(parser.ok()) << parser.status();
  ParsedExample values;
  for (const std::string line : {"", "a line", "\xFF\r", "{}"}) {
    ASSERT_TRUE(parser->Parse(line, &values).ok());
    EXPECT_FALSE(values[0].missing);
    EXPECT_THAT(values[0].bytes, ElementsAre(line));
    EXPECT_TRUE(values[1].missing);
    EXPECT_EQ(ListTextLine(line)[0].first_bytes, line);
  }
}

TEST(TextLineParser, WrongRequestsAreRejectedByKey) {
  const auto message = [](const FeatureRequest& request) {
    return std::string(TextLineParser::Create({request}).status().message());
  };
  EXPECT_THAT(message({.key = "line", .kind = FeatureKind::kInt64}),
              HasSubstr("feature \"line\" is a line of text, so its type must be BYTES"));
  EXPECT_THAT(message({.key = "line", .kind = FeatureKind::kNone}), HasSubstr("feature \"line\" has no type"));
  EXPECT_THAT(message({.key = "line", .sequence = true}), HasSubstr("is a feature list"));
}

TEST(TextLineParser, RawElementsMustFillTheLine) {
  const auto parser = TextLineParser::Create({{.key = "line", .element_bytes = 4}});
  ParsedExample values;
  EXPECT_TRUE(parser->Parse("12345678", &values).ok());
  const absl::Status odd = parser->Parse("123456789", &values);
  EXPECT_EQ(odd.message(), "feature \"line\": a value of 9 bytes is no whole number of elements of 4 bytes");
}

TEST(TextLineParser, AnExampleHasTheLine) {
  const std::string example = ExampleOfLine("a line");
  const auto parser = ExampleParser::Create({{.key = "line"}});
  ParsedExample values;
  ASSERT_TRUE(parser->Parse(example, &values).ok());
  EXPECT_THAT(values[0].bytes, ElementsAre("a line"));
}

}  // namespace
}  // namespace penstock::records
