// The temporary files beside one that is being replaced (WriteFileAtomically).
#ifndef PENSTOCK_BASE_TEMPORARIES_H_
#define PENSTOCK_BASE_TEMPORARIES_H_

#include <string>
#include <string_view>

namespace penstock {

// What a temporary's name has behind that of its file, as mkostemp takes it.
constexpr std::string_view kTemporarySuffix = ".penstock-tmp.XXXXXX";

// Whether a file's name is that of a temporary one.
bool IsTemporary(std::string_view name);

// Removes what a writer of `path` that was killed has left beside it; what cannot be listed or removed stays. Not for
// files that another process may be writing.
void RemoveTemporariesOf(const std::string& path);

// The same for all files of a folder that no other process writes into; not of the folders in it.
void RemoveTemporariesIn(const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TEMPORARIES_H_
