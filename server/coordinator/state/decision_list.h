// Records of a submission that count as bad because every copy of them is damaged (docs/semantics.md), in the order of
// the decisions. A decision is final.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_DECISION_LIST_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_DECISION_LIST_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock::coordinator {

// Pure state.
class DecisionList {
 public:
  // Adds the record. Returns false if it was decided already.
  bool Add(uint64_t record);
  bool Contains(uint64_t record) const { return set_.contains(record); }
  size_t size() const { return order_.size(); }

  // Notes that the job's state at `revision` contains all decisions so far. Revisions must grow.
  void Publish(uint64_t revision);
  // Returns the number of decisions in the job's state at `revision`.
  uint64_t SizeAt(uint64_t revision) const;
  // Adds to `update` the number of decisions, and those that the watcher lacks. The watcher has the first `known`. If
  // there are fewer than `known`, it has those of another store, and gets all.
  void Tell(uint64_t known, v1::JobUpdate* update) const;

 private:
  std::vector<uint64_t> order_;
  absl::flat_hash_set<uint64_t> set_;
  std::vector<std::pair<uint64_t, uint64_t>> published_;  // (revision, number of decisions), both growing
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_DECISION_LIST_H_
