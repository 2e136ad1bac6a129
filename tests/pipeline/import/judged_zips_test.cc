// Files are joined as by tf.data.Dataset.zip. tests/judges/zips.py wrote the file of cases. PENSTOCK_JUDGED_ZIPS names
// another file of that script.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/pipeline/import/joined_testing.h"

namespace penstock::imports {
namespace {

constexpr char kJudgedFile[] = "tests/judges/zips.json";
constexpr NumberFile kKinds[] = {NumberFile::kTfRecord, NumberFile::kJsonl, NumberFile::kNpy};

using Numbers = std::vector<std::vector<int64_t>>;

TEST(JudgedZips, AreThoseOfTfDataForEqualNumbersOfRecords) {
  const char* const other = std::getenv("PENSTOCK_JUDGED_ZIPS");
  const auto text = ReadWholeFile(other == nullptr ? kJudgedFile : other);
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json file = nlohmann::json::parse(*text);
  ASSERT_GE(file["cases"].size(), 24u);
  size_t number = 0;
  for (const nlohmann::json& each : file["cases"]) {
    TempDir dir;
    const NumberFile first = kKinds[number % 3], second = kKinds[number / 3 % 3];
    ++number;
    const auto of_first = each["first"].get<Numbers>(), of_second = each["second"].get<Numbers>();
    WriteNumbers(dir.path(), "a", of_first, first);
    WriteNumbers(dir.path(), "b", of_second, second);
    const auto joined = JoinNumbers(dir.path(), "other/");
    size_t records = 0, others = 0;
    for (const auto& numbers : of_first) records += numbers.size();
    for (const auto& numbers : of_second) others += numbers.size();
    // tf.data ends with the shorter group.
    EXPECT_EQ(joined.ok(), records == others) << joined.status() << each.dump();
    if (!joined.ok()) continue;
    Numbers pairs;
    for (const std::string& record : MakeAll(**joined)) {
      pairs.push_back({FeatureOf<int64_t>(record, KeyOf("a", first)).value_or(-1000),
                       FeatureOf<int64_t>(record, "other/" + KeyOf("b", second)).value_or(-1000)});
    }
    EXPECT_EQ(pairs, each["pairs"].get<Numbers>()) << each.dump();
  }
}

}  // namespace
}  // namespace penstock::imports
