// Names of fields and values that an earlier release called differently.
#ifndef PENSTOCK_CONFIG_RENAMED_H_
#define PENSTOCK_CONFIG_RENAMED_H_

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Returns " (since 0.2.0 it is called 'center_crop')" if `word` is the 0.1.0 name of one of `names`, otherwise "".
std::string RenamedHint(std::string_view word, const std::vector<std::string>& names);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_RENAMED_H_
