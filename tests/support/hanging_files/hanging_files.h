// Files that do not answer, like those of a network file system whose server is gone: calls about them do not return.
//
// hanging_files.cc replaces some of libc's calls about files (HangingFiles). Linked into a test program it makes that
// program's own calls hang (HangingFiles). Preloaded as the shared library hanging_files it makes the calls of another
// program hang (HangingFilesEnvironment).
#ifndef PENSTOCK_TESTS_SUPPORT_HANGING_FILES_HANGING_FILES_H_
#define PENSTOCK_TESTS_SUPPORT_HANGING_FILES_HANGING_FILES_H_

#include <string>
#include <vector>

namespace penstock::support {

// Makes this process's calls of open, pread, stat, fstat, realpath, opendir and posix_fadvise hang for paths that begin
// with `folder`. Other calls about files return as usual. A call that hangs never returns, because its thread would
// continue while the process ends. Calls after the destruction of this object return as usual.
class HangingFiles {
 public:
  explicit HangingFiles(const std::string& folder);
  ~HangingFiles();
  HangingFiles(const HangingFiles&) = delete;
  HangingFiles& operator=(const HangingFiles&) = delete;

  // Returns the number of calls that have hung since the construction of the last object.
  static int hanging();
};

// "NAME=VALUE" for another program. The same calls of that program hang while the file `trigger` exists, whose path
// must not begin with `folder`.
std::vector<std::string> HangingFilesEnvironment(const std::string& library, const std::string& folder,
                                                 const std::string& trigger);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_HANGING_FILES_HANGING_FILES_H_
