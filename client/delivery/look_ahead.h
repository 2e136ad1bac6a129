// How many steps next to the trainer are not left to a worker that does not deliver.
#ifndef PENSTOCK_CLIENT_DELIVERY_LOOK_AHEAD_H_
#define PENSTOCK_CLIENT_DELIVERY_LOOK_AHEAD_H_

#include <algorithm>
#include <cstdint>

namespace penstock {

// Enough that fetching keeps ahead, few enough that a worker which was only slow has not worked for nothing.
inline uint64_t LookAhead(uint64_t window) { return std::max<uint64_t>(2, window / 4); }

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_LOOK_AHEAD_H_
