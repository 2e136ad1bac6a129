// The number of next steps whose rows the core fetches from other workers if a worker does not deliver.
#ifndef PENSTOCK_CLIENT_DELIVERY_LOOK_AHEAD_H_
#define PENSTOCK_CLIENT_DELIVERY_LOOK_AHEAD_H_

#include <algorithm>
#include <cstdint>

namespace penstock::client {

// Returns enough steps to keep fetches ahead of the trainer, but few enough that a worker that was only slow wastes
// little work.
inline uint64_t LookAhead(uint64_t window) { return std::max<uint64_t>(2, window / 4); }

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_LOOK_AHEAD_H_
