// How many files a process may have open.
#ifndef PENSTOCK_BASE_OPEN_FILES_H_
#define PENSTOCK_BASE_OPEN_FILES_H_

#include <cstddef>

namespace penstock {

// For main: lets this process open as many as the system allows it (its hard limit), at most 65536. The soft limit is
// 1024 in most places, for the sake of programs that call select(), which ours do not.
void RaiseOpenFileLimit();

// The soft limit.
size_t OpenFileLimit();

}  // namespace penstock

#endif  // PENSTOCK_BASE_OPEN_FILES_H_
