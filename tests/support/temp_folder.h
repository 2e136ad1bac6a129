// A folder for a test's files.
#ifndef PENSTOCK_TESTS_SUPPORT_TEMP_FOLDER_H_
#define PENSTOCK_TESTS_SUPPORT_TEMP_FOLDER_H_

#include <string>

namespace penstock::support {

// A folder below the system's temporary one. The destructor removes it with its content.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_TEMP_FOLDER_H_
