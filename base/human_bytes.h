// Sizes for people.
#ifndef PENSTOCK_BASE_HUMAN_BYTES_H_
#define PENSTOCK_BASE_HUMAN_BYTES_H_

#include <cstdint>
#include <string>

namespace penstock {

// Returns "1.2 GiB", or "12 GiB" for 10 and more.
std::string HumanBytes(uint64_t bytes);

}  // namespace penstock

#endif  // PENSTOCK_BASE_HUMAN_BYTES_H_
