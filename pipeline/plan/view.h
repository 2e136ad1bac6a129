// A view assigns the parts of a job to workers. It is a numbered, complete assignment that the coordinator makes and
// every client and worker keeps. Ownership is a hint, not a permission: every worker answers requests for any row.
#ifndef PENSTOCK_PIPELINE_PLAN_VIEW_H_
#define PENSTOCK_PIPELINE_PLAN_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace penstock::plan {

// The meaning of a view's keys.
enum class AssignPolicy : uint8_t {
  kByRecord = 0,  // the record's number in the snapshot, [0, N): each worker has a part of the data
  kByRank = 1,    // the row's slot in its step, scaled to [0, 2^20): a few workers serve a rank's slice
};

constexpr uint64_t kRankKeySpace = uint64_t{1} << 20;

// Returns the kByRank key of a slot. slot < step_size < 2^44.
constexpr uint64_t RankKey(uint64_t slot, uint64_t step_size) { return slot * kRankKeySpace / step_size; }

struct ViewWorker {
  std::string id;             // persistent
  std::string address;        // host:port
  std::string local = {};     // address for processes on its host; empty: `address`
  std::string name = {};      // display name; empty: its id
  std::string tls_name = {};  // name in its certificate; empty: it serves plaintext
  bool operator==(const ViewWorker&) const = default;
};

// Keys [begin, end). `owner` and `backup` are indices into View::workers. They are equal if there is only one worker.
struct ViewRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t owner = 0;
  uint32_t backup = 0;
  bool operator==(const ViewRange&) const = default;
};

struct View {
  static constexpr uint32_t kNobody = UINT32_MAX;

  uint64_t term = 0;  // term of the coordinator that made it
  uint64_t n = 0;     // number of the view within its job
  AssignPolicy policy = AssignPolicy::kByRecord;
  uint64_t key_space = 0;
  std::vector<ViewRange> ranges;  // sorted, a partition of [0, key_space); empty if there are no workers
  std::vector<ViewWorker> workers;

  // Returns the index of the range, or of the worker, for a key, or kNobody if there are no workers. Requires key <
  // key_space and a valid view. O(log ranges).
  uint32_t RangeOf(uint64_t key) const;
  uint32_t OwnerOf(uint64_t key) const;
  uint32_t BackupOf(uint64_t key) const;

  // Returns the key of a row under this view's policy.
  uint64_t KeyOf(uint64_t record, uint64_t slot, uint64_t step_size) const {
    return policy == AssignPolicy::kByRecord ? record : RankKey(slot, step_size);
  }

  // Returns the index of a worker by id, or kNobody.
  uint32_t FindWorker(const std::string& id) const;

  // Returns whether this view is older than `other`. Views are ordered by (term, n).
  bool OlderThan(const View& other) const { return term != other.term ? term < other.term : n < other.n; }

  // Validates a view from outside. Call it before any use. Returns InvalidArgument, with the range or the worker, if
  //   - the policy is unknown, or kByRank has another key space than kRankKeySpace;
  //   - ranges do not partition the key space, or exist without workers;
  //   - indices are out of range;
  //   - ids are empty or duplicated;
  //   - a backup equals the owner although there are other workers.
  absl::Status Validate() const;

  bool operator==(const View&) const = default;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_VIEW_H_
