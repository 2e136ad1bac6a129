// Bounds of views.
#ifndef PENSTOCK_TESTS_FUZZ_INSIDE_H_
#define PENSTOCK_TESTS_FUZZ_INSIDE_H_

#include <string_view>

namespace penstock::fuzz {

// Returns whether the bytes are a part of `all`. No bytes are a part of any.
inline bool IsInside(std::string_view bytes, std::string_view all) {
  return bytes.empty() || (bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size());
}

}  // namespace penstock::fuzz

#endif  // PENSTOCK_TESTS_FUZZ_INSIDE_H_
