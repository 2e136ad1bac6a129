// Rows that are windows: records of one run, at equal steps.
#ifndef PENSTOCK_PIPELINE_PLAN_RECORD_WINDOWS_H_
#define PENSTOCK_PIPELINE_PLAN_RECORD_WINDOWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/record_packs.h"

namespace penstock::plan {

// Limits of a window of records.
constexpr uint64_t kMaxWindowRecords = uint64_t{1} << 20, kMaxWindowStep = UINT32_MAX;

struct WindowOptions {
  uint64_t size = 1;    // records of a window, from 1 to kMaxWindowRecords
  uint64_t stride = 1;  // records from one window to the next, from 1 to kMaxWindowStep
  uint64_t step = 1;    // records from one record of a window to the next, from 1 to kMaxWindowStep

  // Returns the records from the first one of a window to its last one.
  uint64_t Span() const { return (size - 1) * step + 1; }
  bool operator==(const WindowOptions&) const = default;
};

// The windows of a shard's records, in the order of their first records. Takes 8 bytes for each run, however many
// windows it has.
struct RecordWindows {
  // Neighboring records that have windows.
  struct Run {
    uint32_t begin = 0;      // the first record
    uint32_t first_row = 0;  // the number of its first window
    bool operator==(const Run&) const = default;
  };

  WindowOptions options = {};
  std::vector<Run> runs = {};  // ascending; each has a window
  uint64_t rows = 0;           // at most 2^32 - 1
  uint64_t longest_run = 0;    // records of the longest run, also if it has no window

  // Adds the windows of the records [begin, begin + records), which follow those of the earlier runs, and are below
  // 2^32. Returns their number.
  uint64_t AddRun(uint64_t begin, uint64_t records);
  // Returns the number of windows of run `run`.
  uint64_t RowsOf(size_t run) const;
  // Returns the records of a window. row < rows.
  RowParts Row(uint64_t row) const;

  bool operator==(const RecordWindows&) const = default;
};

// Finds the windows of records that come one by one.
class WindowCutter {
 public:
  explicit WindowCutter(const WindowOptions& options) { windows_.options = options; }

  // Adds the next record. Neighbors with equal keys are a run.
  void Add(std::string_view key);
  // Ends the run, so that no window has records before and after this place.
  void EndRun();
  // Ends the last run, and returns the windows.
  RecordWindows Take();

  // Return the number of runs so far, and of those that are too short for a window.
  uint64_t runs() const { return runs_; }
  uint64_t short_runs() const { return short_runs_; }

 private:
  RecordWindows windows_;
  std::string key_;       // the key of the run
  uint64_t begin_ = 0;    // its first record
  uint64_t records_ = 0;  // all records so far
  uint64_t runs_ = 0, short_runs_ = 0;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_RECORD_WINDOWS_H_
