// The changes of a job's batch size, as the public API has them.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_BATCH_CHANGES_H_
#define PENSTOCK_CLIENT_ASSEMBLY_BATCH_CHANGES_H_

#include <vector>

#include "penstock/client.h"
#include "pipeline/plan/steps.h"

namespace penstock::client {

inline std::vector<BatchChange> BatchChangesOf(const plan::Steps& steps) {
  std::vector<BatchChange> changes;
  for (const plan::SizeChange& change : steps.sizes().changes) changes.push_back({change.at_rows, change.size});
  return changes;
}

// Returns Reader::batch_multiple().
inline uint64_t BatchMultipleOf(const plan::Steps& steps) {
  return steps.sizes().batches == nullptr ? 0 : steps.sizes().batches->cut().multiple();
}

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_ASSEMBLY_BATCH_CHANGES_H_
