// A view: which worker serves which part of a job. A numbered, complete assignment, made by the
// coordinator and kept by every client and worker. Ownership is a hint, never a permission: any
// worker answers any row.
#ifndef PENSTOCK_PIPELINE_PLAN_VIEW_H_
#define PENSTOCK_PIPELINE_PLAN_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace penstock {

// What the keys of a view are.
enum class AssignPolicy : uint8_t {
  kByRecord = 0,  // the record's number in the snapshot, [0, N): each worker has a part of the data
  kByRank = 1,    // the row's slot in its global step, scaled to [0, 2^20): a few workers serve a
                  // rank's whole slice
};

constexpr uint64_t kRankKeySpace = uint64_t{1} << 20;

// The kByRank key of a slot. slot < step_size < 2^44.
constexpr uint64_t RankKey(uint64_t slot, uint64_t step_size) { return slot * kRankKeySpace / step_size; }

struct ViewWorker {
  std::string id;          // persistent
  std::string address;     // host:port
  std::string local = {};  // how processes of its host reach it; empty: as all others do
  bool operator==(const ViewWorker&) const = default;
};

// Keys [begin, end). owner and backup are indices into View::workers; they are equal when there is
// one worker only.
struct ViewRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t owner = 0;
  uint32_t backup = 0;
  bool operator==(const ViewRange&) const = default;
};

struct View {
  static constexpr uint32_t kNobody = UINT32_MAX;

  uint64_t term = 0;  // of the coordinator that made it
  uint64_t n = 0;     // counts the views of a job
  AssignPolicy policy = AssignPolicy::kByRecord;
  uint64_t key_space = 0;
  std::vector<ViewRange> ranges;  // sorted, a partition of [0, key_space); empty when there are no workers
  std::vector<ViewWorker> workers;

  // The index of the range, or of the worker, for a key. key < key_space, view valid. kNobody when
  // there are no workers. O(log ranges).
  uint32_t RangeOf(uint64_t key) const;
  uint32_t OwnerOf(uint64_t key) const;
  uint32_t BackupOf(uint64_t key) const;

  // The key of a row, as this view's policy has it.
  uint64_t KeyOf(uint64_t record, uint64_t slot, uint64_t step_size) const {
    return policy == AssignPolicy::kByRecord ? record : RankKey(slot, step_size);
  }

  // The index of a worker by id, or kNobody.
  uint32_t FindWorker(const std::string& id) const;

  // Views are ordered by (term, n).
  bool OlderThan(const View& other) const { return term != other.term ? term < other.term : n < other.n; }

  // To be called on a view from outside before it is used. InvalidArgument says which range or
  // worker is wrong: ranges that are no partition of the key space, indices out of range, ids that
  // are empty or twice there, ranges without workers, a backup that is the owner though there are
  // other workers.
  absl::Status Validate() const;

  bool operator==(const View&) const = default;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PLAN_VIEW_H_
