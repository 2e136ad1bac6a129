// The temporary files of WriteFileAtomically, in the folder of the replaced file.
#ifndef PENSTOCK_BASE_TEMPORARIES_H_
#define PENSTOCK_BASE_TEMPORARIES_H_

#include <string>
#include <string_view>

namespace penstock {

// The suffix of a temporary file's name, in the form that mkostemp takes.
constexpr std::string_view kTemporarySuffix = ".penstock-tmp.XXXXXX";

// Returns true if the name is that of a temporary file.
bool IsTemporary(std::string_view name);

// Removes temporary files that a killed writer of `path` has left. Ignores files that cannot be listed or removed. Must
// not be called while another process may be writing the file.
void RemoveTemporariesOf(const std::string& path);

// Removes the temporary files of all files in a folder, but not in its subfolders. No other process may write into the
// folder.
void RemoveTemporariesIn(const std::string& folder);

}  // namespace penstock

#endif  // PENSTOCK_BASE_TEMPORARIES_H_
