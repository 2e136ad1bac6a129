// Limits the records that are read from storage with high latency at the same time, and orders the rows that wait to
// read. Pure bookkeeping, without a lock or a thread.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_SLOTS_H_
#define PENSTOCK_PIPELINE_LOADER_READ_SLOTS_H_

#include <deque>
#include <optional>

#include "pipeline/loader/row_task.h"

namespace penstock::loader {

// Not thread-safe.
class ReadSlots {
 public:
  explicit ReadSlots(int most) : most_(most) {}

  // Changes the largest number of reads in flight. Reads in flight continue.
  void SetMost(int most) { most_ = most; }
  int reads() const { return reads_; }  // in flight
  // Returns the number of reads that may begin.
  int room() const { return most_ - reads_; }
  bool has_free() const { return room() > 0; }
  // Returns whether rows wait for storage.
  bool busy() const { return reads_ + in_ranges_ > 0; }

  // Counts a read in flight. The caller has checked has_free().
  void Begin() { ++reads_; }
  // Turns a read into a wait for a range that reads the record. Such a row does not count as a read in flight. Its wait
  // may have ended before this call.
  void MoveToRange() {
    ++in_ranges_;
    --reads_;
  }
  void End() { --reads_; }
  void EndInRange() { --in_ranges_; }

  // Adds a row that waits until another read ends. Urgent rows go first, and otherwise rows keep their order.
  void Wait(TaskId row, bool urgent) { (urgent ? urgent_ : waiting_).push_back(row); }
  // Removes and returns the next waiting row if a read may begin. The row may no longer exist. The caller counts its
  // read with Begin() when it begins.
  std::optional<TaskId> TakeNext() {
    std::deque<TaskId>& next = urgent_.empty() ? waiting_ : urgent_;
    if (!has_free() || next.empty()) return std::nullopt;
    const TaskId row = next.front();
    next.pop_front();
    return row;
  }

 private:
  int most_;
  int reads_ = 0;
  int in_ranges_ = 0;  // rows whose records are in flight in a range
  std::deque<TaskId> urgent_, waiting_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_SLOTS_H_
