// Features of JSON objects have the values that Python's json reads. tests/judges/json_lines.py wrote the file of them.
// PENSTOCK_JUDGED_JSON_LINES names another file of that script.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/file.h"
#include "pipeline/records/json_record_parser.h"

namespace penstock::records {
namespace {

constexpr char kJudgedFile[] = "tests/judges/json_lines.json";

FeatureKind KindOf(const std::string& name) {
  return name == "INT64" ? FeatureKind::kInt64 : name == "FLOAT" ? FeatureKind::kFloat : FeatureKind::kBytes;
}

void ExpectValue(const FeatureValue& found, const nlohmann::json& expected, const std::string& place) {
  EXPECT_EQ(found.missing, expected.is_null()) << place;
  if (expected.is_null()) return;
  if (expected.is_object()) {
    ASSERT_EQ(found.bytes.size(), 1u) << place;
    EXPECT_EQ(nlohmann::json::parse(found.bytes[0]).dump(), expected["text"].dump()) << place;
    return;
  }
  ASSERT_EQ(found.count(), expected.size()) << place;
  if (!found.ints.empty()) {
    EXPECT_EQ(found.ints, expected.get<std::vector<int64_t>>()) << place;
  } else if (!found.floats.empty()) {
    EXPECT_EQ(found.floats, expected.get<std::vector<float>>()) << place;
  } else {
    const std::vector<std::string> texts(found.bytes.begin(), found.bytes.end());
    EXPECT_EQ(texts, expected.get<std::vector<std::string>>()) << place;
  }
}

TEST(JudgedJson, FeaturesHaveTheValuesThatPythonReads) {
  const char* const other = std::getenv("PENSTOCK_JUDGED_JSON_LINES");
  const auto text = ReadWholeFile(other == nullptr ? kJudgedFile : other);
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json file = nlohmann::json::parse(*text);
  ASSERT_GE(file["lines"].size(), 100u);
  for (const nlohmann::json& each : file["lines"]) {
    if (each.contains("hex")) {
      const std::string line = absl::HexStringToBytes(each["hex"].get<std::string>());
      EXPECT_TRUE(absl::IsInvalidArgument(ListJsonValues(line).status())) << absl::CHexEscape(line);
      continue;
    }
    const auto line = each["line"].get<std::string>();
    const auto listed = ListJsonValues(line);
    ASSERT_TRUE(listed.ok()) << line << ": " << listed.status();
    for (const nlohmann::json& one : each["cases"]) {
      const auto key = one[0].get<std::string>(), kind = one[1].get<std::string>();
      const std::string place = key + " as " + kind + " in " + line;
      const auto parser = JsonRecordParser::Create({{.key = key, .kind = KindOf(kind)}});
      ASSERT_TRUE(parser.ok()) << parser.status();
      ParsedExample values;
      const absl::Status parsed = parser->Parse(line, &values);
      ASSERT_EQ(parsed.ok(), one[2] != "error") << place << ": " << parsed;
      if (parsed.ok()) ExpectValue(values[0], one[2], place);
    }
  }
}

}  // namespace
}  // namespace penstock::records
