// Names of fields and values that were others in an earlier release.
#ifndef PENSTOCK_CONFIG_RENAMED_H_
#define PENSTOCK_CONFIG_RENAMED_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// " (since 0.2.0 it is called 'center_crop')" where `word` is what 0.1.0 called one of `names`; else "".
std::string RenamedHint(std::string_view word, const std::vector<std::string>& names);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_RENAMED_H_
