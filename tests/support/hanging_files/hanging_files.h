// Files that do not answer, as those of a network file system whose server is gone: calls about them do not return.
//
// hanging_files.cc has libc's calls about files in its place. Linked into a test program it makes that program's own
// calls hang (HangingFiles); as the shared library hanging_files, preloaded, those of another program
// (HangingFilesEnvironment).
#ifndef PENSTOCK_TESTS_SUPPORT_HANGING_FILES_HANGING_FILES_H_
#define PENSTOCK_TESTS_SUPPORT_HANGING_FILES_HANGING_FILES_H_

#include <string>
#include <vector>

namespace penstock {

// Of this process: files below `folder` do not answer from now on; calls that hang go on when this goes.
class HangingFiles {
 public:
  explicit HangingFiles(const std::string& folder);
  ~HangingFiles();
  HangingFiles(const HangingFiles&) = delete;
  HangingFiles& operator=(const HangingFiles&) = delete;

  // Calls that hang now.
  static int hanging();
};

// "NAME=VALUE" for another program: its calls about files below `folder` hang while there is a file `trigger`, which
// is not below it.
std::vector<std::string> HangingFilesEnvironment(const std::string& library, const std::string& folder,
                                                 const std::string& trigger);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_HANGING_FILES_HANGING_FILES_H_
