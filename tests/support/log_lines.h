// The lines of a daemon's log, for tests.
#ifndef PENSTOCK_TESTS_SUPPORT_LOG_LINES_H_
#define PENSTOCK_TESTS_SUPPORT_LOG_LINES_H_

#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock::support {

// Returns the objects of a log in JSON form, one for each line. A line that is no JSON object fails the test and is
// left out.
std::vector<nlohmann::json> ParseLogLines(const std::string& text);

// Returns the field's text, or "" if the line has no such field.
std::string FieldOf(const nlohmann::json& line, const char* field);

// Captures the log of this process. At most one may exist.
class CapturedLog {
 public:
  explicit CapturedLog(const std::string& level = "info", bool json = true);
  ~CapturedLog();  // restores the logger
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // Returns the text since the last call, and continues.
  std::string TakeText();
  std::vector<nlohmann::json> TakeLines() { return ParseLogLines(TakeText()); }

 private:
  const std::shared_ptr<spdlog::logger> before_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_LOG_LINES_H_
