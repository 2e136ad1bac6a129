// The coordinator's memory across restarts.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/store.pb.h"

namespace penstock {

// Not thread-safe: one writer.
class Store {
 public:
  virtual ~Store() = default;

  // Everything that is stored, jobs, views, workers and bad records each in order of their names.
  virtual absl::StatusOr<v1::StoredState> Load() = 0;

  // Stores all the events, or none. They survive a crash of the machine once this returns OK.
  // Returns the revision after it, which is expected_revision + 1.
  //   Aborted   the stored revision is not `expected_revision`: somebody else has written
  //   others    the storage failed; nothing is stored, and the same commit may be tried again
  virtual absl::StatusOr<uint64_t> Commit(const std::vector<v1::StoreEvent>& events, uint64_t expected_revision) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_
