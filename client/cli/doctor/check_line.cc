#include "client/cli/doctor/check_line.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json.h"

namespace penstock::cli {
namespace {

std::string_view Word(CheckLine::Result result) {
  switch (result) {
    case CheckLine::Result::kFine:
      return "ok";
    case CheckLine::Result::kFault:
      return "FAULT";
    case CheckLine::Result::kUnchecked:
      return "?";
  }
  return "";
}

// Other processes send these texts.
std::string Printable(std::string text) {
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return text;
}

}  // namespace

void CheckLines::Add(std::string check, CheckLine::Result result, const std::string& message) {
  lines_.push_back({process_, std::move(check), result, message});
}

size_t CheckLines::CountFaults() const {
  return static_cast<size_t>(std::count_if(
      lines_.begin(), lines_.end(), [](const CheckLine& line) { return line.result == CheckLine::Result::kFault; }));
}

std::string CheckLines::Text() const {
  size_t width = 0;
  for (const CheckLine& line : lines_) width = std::max(width, Printable(line.process).size());
  std::string out;
  for (const CheckLine& line : lines_) {
    absl::StrAppendFormat(&out, "%-5s  %-*s  %s: %s\n", Word(line.result), static_cast<int>(width),
                          Printable(line.process), Printable(line.check), Printable(line.message));
  }
  return out;
}

std::string CheckLines::AsJson() const {
  std::vector<std::string> checks;
  for (const CheckLine& line : lines_) {
    const bool fault = line.result == CheckLine::Result::kFault;
    checks.push_back(Json()
                         .Field("process", line.process)
                         .Field("check", line.check)
                         .Field("result", fault                                     ? "fault"
                                          : line.result == CheckLine::Result::kFine ? "ok"
                                                                                    : "unchecked")
                         .Field("message", line.message)
                         .Object());
  }
  return Json().Field("faults", uint64_t{CountFaults()}).Raw("checks", Json::Array(checks)).Object();
}

}  // namespace penstock::cli
