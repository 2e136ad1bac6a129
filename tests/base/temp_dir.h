// A new, empty folder for one test.
#ifndef PENSTOCK_TESTS_BASE_TEMP_DIR_H_
#define PENSTOCK_TESTS_BASE_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace penstock {

// Creates the folder, and removes it with its content when the object is destroyed. Aborts the process if the folder
// cannot be created.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "penstock_test_XXXXXX").string();
    PS_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of a file in the folder. The file need not exist.
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file in the folder, or replaces it. Creates missing folders of its path.
  void Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = File(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  // Returns the number of entries directly in the folder.
  size_t Entries() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::string path_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_BASE_TEMP_DIR_H_
