// Bytes as a file, for parsers that read files.
#ifndef PENSTOCK_TESTS_FUZZ_BYTES_FILE_H_
#define PENSTOCK_TESTS_FUZZ_BYTES_FILE_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/file.h"

namespace penstock::fuzz {

// `bytes` must outlive the file.
class BytesFile final : public RandomAccessFile {
 public:
  explicit BytesFile(std::string_view bytes) : bytes_(bytes) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t n = std::min<size_t>(length, bytes_.size() - offset);
    std::memcpy(out, bytes_.data() + offset, n);
    return n;
  }
  absl::StatusOr<FileInfo> Info() const override { return FileInfo{bytes_.size(), 0}; }
  const std::string& path() const override { return path_; }

 private:
  const std::string_view bytes_;
  const std::string path_ = "fuzz";
};

}  // namespace penstock::fuzz

#endif  // PENSTOCK_TESTS_FUZZ_BYTES_FILE_H_
