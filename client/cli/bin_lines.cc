#include "client/cli/bin_lines.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/value_bins.h"

namespace penstock::cli {
namespace {

constexpr size_t kShownAtEnds = 4;

}  // namespace

std::string BinLines(const std::vector<std::string>& names, const std::vector<uint64_t>& records,
                     const std::string& indent) {
  std::string out;
  const bool all = names.size() <= 2 * kShownAtEnds + 1;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!all && i == kShownAtEnds) {
      i = names.size() - kShownAtEnds;
      absl::StrAppend(&out, indent, "and ", names.size() - 2 * kShownAtEnds, " more, up to\n");
    }
    absl::StrAppend(&out, indent, absl::Utf8SafeCEscape(std::string(plan::BinText(names[i]))), ": ",
                    Count(records[i], "record"), "\n");
  }
  return out;
}

std::string BinLinesOf(const v1::Select& step, const std::map<std::string, uint64_t>& records,
                       const std::string& indent) {
  std::vector<std::string> values;
  std::vector<uint64_t> of_value;
  for (const auto& [value, count] : records) {
    values.push_back(value);
    of_value.push_back(count);
  }
  const plan::ValueBins bins = plan::MakeBins(values, of_value, plan::BinRuleOf(step));
  std::vector<uint64_t> of_bin(bins.names.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) of_bin[bins.of_value[i]] += of_value[i];
  return absl::StrCat(indent, Count(bins.names.size(), "part"), " of ", Count(values.size(), "value"), "\n",
                      BinLines(bins.names, of_bin, indent + "  "));
}

}  // namespace penstock::cli
