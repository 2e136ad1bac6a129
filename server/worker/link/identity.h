// Who a worker is, over restarts.
#ifndef PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_
#define PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

// The id in `state_dir`/worker_id; made up (host name and random digits) and written there at the first start. DataLoss
// where the file holds no id, with what to do.
absl::StatusOr<std::string> LoadOrMakeWorkerId(const std::string& state_dir);

// Random; another at every start.
uint64_t NewIncarnation();

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_LINK_IDENTITY_H_
