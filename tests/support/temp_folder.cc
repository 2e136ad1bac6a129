#include "tests/support/temp_folder.h"

#include <cstdlib>
#include <filesystem>

#include "base/check.h"

namespace penstock::support {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "penstock-test-XXXXXX").string();
  PS_CHECK(mkdtemp(pattern.data()) != nullptr);
  path_ = fs::canonical(pattern).string();
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace penstock::support
