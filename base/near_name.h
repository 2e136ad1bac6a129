// "Did you mean": the nearest of a list of names.
#ifndef PENSTOCK_BASE_NEAR_NAME_H_
#define PENSTOCK_BASE_NEAR_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// The name with the smallest edit distance to `word`; where none is near (more than a third of its letters differ, and
// at least two) the shortest one that `word` is a part of ("horizontal_flip"), or "".
std::string NearName(std::string_view word, const std::vector<std::string>& names);

// " (did you mean 'x'?)", or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& names);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NEAR_NAME_H_
