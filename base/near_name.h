// "Did you mean": the nearest name of a list.
#ifndef PENSTOCK_BASE_NEAR_NAME_H_
#define PENSTOCK_BASE_NEAR_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Returns the name with the smallest edit distance to `word`, if the distance is at most two, or at most a third of the
// length of `word`. Ignores case. Otherwise returns the shortest name that contains `word` as whole words, such as
// "random_horizontal_flip" for "horizontal_flip", if `word` has at least four letters. Otherwise, and if `word` has
// more than 100 letters, returns "".
std::string NearName(std::string_view word, const std::vector<std::string>& names);

// Returns " (did you mean 'x'?)", or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& names);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NEAR_NAME_H_
