#include "tests/support/log_lines.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_split.h"
#include "server/common/logging.h"

namespace penstock::support {

std::vector<nlohmann::json> ParseLogLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    nlohmann::json parsed = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(parsed.is_object()) << line;
    if (parsed.is_object()) lines.push_back(std::move(parsed));
  }
  return lines;
}

std::string FieldOf(const nlohmann::json& line, const char* field) {
  const auto found = line.find(field);
  return found == line.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

CapturedLog::CapturedLog(const std::string& level, bool json) : before_(spdlog::default_logger()) {
  EXPECT_TRUE(server::SetUpLogging(level, json).ok());
  ::testing::internal::CaptureStderr();
}

CapturedLog::~CapturedLog() {
  ::testing::internal::GetCapturedStderr();
  spdlog::set_default_logger(before_);
}

std::string CapturedLog::TakeText() {
  std::string text = ::testing::internal::GetCapturedStderr();
  ::testing::internal::CaptureStderr();
  return text;
}

}  // namespace penstock::support
