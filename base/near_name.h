// "Did you mean": the nearest name of a list.
#ifndef PENSTOCK_BASE_NEAR_NAME_H_
#define PENSTOCK_BASE_NEAR_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Returns the name with the smallest edit distance to `word`, if the distance is at most two, or at most a third of the
// length of `word`. Ignores case in these distances. Otherwise returns the shortest name that contains `word` as whole
// words, such as "random_horizontal_flip" for "horizontal_flip", if `word` has at least four letters. Whole words must
// match in case. Returns "" if no name fits. Also returns "" if `word` is empty or has more than 100 bytes.
std::string NearName(std::string_view word, const std::vector<std::string>& names);

// Returns " (did you mean 'x'?)", or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& names);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NEAR_NAME_H_
