// Windows are those of Keras and tf.data. tests/judges/windows.py wrote the file of them. PENSTOCK_JUDGED_WINDOWS names
// another file of that script.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "pipeline/plan/record_windows.h"

namespace penstock::plan {
namespace {

constexpr char kJudgedFile[] = "tests/judges/windows.json";

TEST(JudgedWindows, AreThoseOfKerasAndTfData) {
  const char* const other = std::getenv("PENSTOCK_JUDGED_WINDOWS");
  const auto text = ReadWholeFile(other == nullptr ? kJudgedFile : other);
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json file = nlohmann::json::parse(*text);
  ASSERT_GE(file["cases"].size(), 40u);
  for (const nlohmann::json& each : file["cases"]) {
    RecordWindows windows{.options = {each["size"], each["stride"], each["step"]}};
    windows.AddRun(0, each["rows"]);
    std::vector<std::vector<uint32_t>> found;
    for (uint64_t row = 0; row < windows.rows; ++row) {
      found.emplace_back();
      for (const PackPart part : windows.Row(row)) found.back().push_back(part.record);
    }
    EXPECT_EQ(found, each["windows"].get<std::vector<std::vector<uint32_t>>>()) << each.dump();
  }
}

}  // namespace
}  // namespace penstock::plan
