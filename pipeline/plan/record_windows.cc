#include "pipeline/plan/record_windows.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace penstock::plan {

uint64_t RecordWindows::AddRun(uint64_t begin, uint64_t records) {
  longest_run = std::max(longest_run, records);
  if (records < options.Span()) return 0;
  const uint64_t more = (records - options.Span()) / options.stride + 1;
  runs.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(rows)});
  rows += more;
  return more;
}

uint64_t RecordWindows::RowsOf(size_t run) const {
  return (run + 1 == runs.size() ? rows : runs[run + 1].first_row) - runs[run].first_row;
}

RowParts RecordWindows::Row(uint64_t row) const {
  PS_CHECK(row < rows);
  const auto after = std::upper_bound(runs.begin(), runs.end(), row,
                                      [](uint64_t number, const Run& run) { return number < run.first_row; });
  const Run& run = *std::prev(after);
  const uint64_t first = run.begin + (row - run.first_row) * options.stride;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(options.step), options.size};
}

void WindowCutter::Add(std::string_view key) {
  if (records_ > begin_ && key != key_) EndRun();
  if (records_ == begin_) key_ = key;
  ++records_;
}

void WindowCutter::EndRun() {
  if (records_ == begin_) return;
  ++runs_;
  if (windows_.AddRun(begin_, records_ - begin_) == 0) ++short_runs_;
  begin_ = records_;
}

RecordWindows WindowCutter::Take() {
  EndRun();
  windows_.runs.shrink_to_fit();
  return std::move(windows_);
}

}  // namespace penstock::plan
