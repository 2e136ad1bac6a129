// A worker's identity across restarts.
#ifndef PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_
#define PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/random_source.h"

namespace penstock::worker {

// Returns the id in `state_dir`/worker_id. At the first start it generates an id (host name and random digits) and
// writes it. Returns DataLoss if the file has no valid id; the error names the remedy.
absl::StatusOr<std::string> LoadOrMakeWorkerId(const std::string& state_dir, RandomSource* random);

// Returns a random number other than 0, a different one at every start.
uint64_t NewIncarnation(RandomSource* random);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_
