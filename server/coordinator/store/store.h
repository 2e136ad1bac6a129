// The coordinator's state that survives restarts.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/store.pb.h"

namespace penstock {

// Not thread-safe. Has one writer.
class Store {
 public:
  virtual ~Store() = default;

  // Returns all stored facts. Jobs, views, workers and bad records are each ordered by name.
  virtual absl::StatusOr<v1::StoredState> Load() = 0;

  // Stores all of the events or none. They survive a crash of the machine once this returns OK. Returns the new
  // revision, which is expected_revision + 1.
  //   Aborted   the stored revision is not `expected_revision`: another process has written
  //   others    the storage failed; nothing is stored, and the caller may retry the commit
  virtual absl::StatusOr<uint64_t> Commit(const std::vector<v1::StoreEvent>& events, uint64_t expected_revision) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_
