// Patterns for names, such as "imagenet-*".
#ifndef PENSTOCK_BASE_GLOB_H_
#define PENSTOCK_BASE_GLOB_H_

#include <string_view>

namespace penstock {

// Returns whether the whole name matches the pattern. '*' matches any bytes, also none, and '?' matches one byte. Takes
// at most time proportional to pattern.size() * name.size().
bool MatchesGlob(std::string_view pattern, std::string_view name);

}  // namespace penstock

#endif  // PENSTOCK_BASE_GLOB_H_
