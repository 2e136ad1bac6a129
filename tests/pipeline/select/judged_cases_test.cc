// Expressions match the records that pandas and pyarrow select. tests/judges/selections.py wrote the file of their
// results. PENSTOCK_JUDGED_SELECTIONS names another file of that script.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "pipeline/select/expression.h"
#include "tests/pipeline/select/select_testing.h"

namespace penstock::select {
namespace {

constexpr char kJudgedFile[] = "tests/judges/selections.json";

template <typename T>
std::vector<T> ListOf(const nlohmann::json& value) {
  if (value.is_array()) return value.get<std::vector<T>>();
  return {value.get<T>()};
}

TestRecord RecordOf(const nlohmann::json& row) {
  TestRecord record;
  for (const auto& [name, value] : row.items()) {
    if (name == "f" && value.is_string()) {
      record[name] = std::vector<double>{std::numeric_limits<double>::quiet_NaN()};
    } else if (name == "f" || name == "g") {
      record[name] = ListOf<double>(value);
    } else if (name == "s" || name == "t/u" || name == "captions") {
      record[name] = ListOf<std::string>(value);
    } else {
      record[name] = ListOf<int64_t>(value);
    }
  }
  return record;
}

TEST(JudgedCases, ExpressionsMatchTheRecordsThatPandasAndPyarrowSelect) {
  const std::map<std::string, ColumnType> columns = {
      {"i", ColumnType::kInt64},   {"j", ColumnType::kInt64},      {"large", ColumnType::kInt64},
      {"f", ColumnType::kFloat},   {"g", ColumnType::kFloat},      {"s", ColumnType::kBytes},
      {"t/u", ColumnType::kBytes}, {"tokens", ColumnType::kInt64}, {"captions", ColumnType::kBytes},
  };
  const char* const other = std::getenv("PENSTOCK_JUDGED_SELECTIONS");
  const auto text = ReadWholeFile(other == nullptr ? kJudgedFile : other);
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json file = nlohmann::json::parse(*text);
  std::vector<TestRecord> records;
  for (const nlohmann::json& row : file["records"]) records.push_back(RecordOf(row));
  ASSERT_GE(file["cases"].size(), 200);
  for (const nlohmann::json& each : file["cases"]) {
    const auto filter = each[0].get<std::string>(), mask = each[1].get<std::string>();
    const absl::StatusOr<Expression> expression = Expression::Parse(filter, columns);
    ASSERT_TRUE(expression.ok()) << expression.status();
    std::string found;
    for (const TestRecord& record : records) {
      const absl::StatusOr<bool> result = Matches(*expression, record);
      ASSERT_TRUE(result.ok()) << filter << ": " << result.status();
      found += *result ? '1' : '0';
    }
    EXPECT_EQ(found, mask) << filter;
  }
}

}  // namespace
}  // namespace penstock::select
