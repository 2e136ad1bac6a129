// The commit of the sources of this program.
#ifndef PENSTOCK_BASE_COMMIT_H_
#define PENSTOCK_BASE_COMMIT_H_

#include <string_view>

namespace penstock {

// Returns the first 12 digits of the commit, "c598174134aa", followed by "+changes" if files differed from it. Returns
// "unknown" if the sources are neither a clone nor an archive that git wrote.
std::string_view Commit();

}  // namespace penstock

#endif  // PENSTOCK_BASE_COMMIT_H_
