// A shard's stream from front to back: the file itself, or its decompressed content. Internal to sources/.
#ifndef PENSTOCK_PIPELINE_SOURCES_BYTE_SOURCE_H_
#define PENSTOCK_PIPELINE_SOURCES_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock::sources {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads up to `length` bytes into `out` and returns their number. It is smaller only at the end of the stream or
  // before damage, which the next call reports. Returns DataLoss if the compressed data is damaged. Other errors come
  // from the file.
  virtual absl::StatusOr<size_t> Read(char* out, size_t length) = 0;
  // Skips up to `length` bytes and returns their number. Behaves like Read otherwise.
  virtual absl::StatusOr<uint64_t> Skip(uint64_t length) = 0;
  // Returns the offset in the file after the last byte that was consumed or skipped.
  virtual uint64_t file_position() const = 0;
};

// Reads an uncompressed file through a buffer. Long skips do not read.
class PlainSource final : public ByteSource {
 public:
  // `file` must outlive this object. `size` is the size of the file.
  PlainSource(const RandomAccessFile* file, uint64_t size);

  absl::StatusOr<size_t> Read(char* out, size_t length) override;
  absl::StatusOr<uint64_t> Skip(uint64_t length) override;
  uint64_t file_position() const override { return position_; }

 private:
  absl::Status Fill();

  const RandomAccessFile* const file_;
  const uint64_t size_;
  const size_t unit_;
  uint64_t position_ = 0;
  // buffer_[begin_, end_) holds the file's bytes from position_ on.
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  size_t next_read_;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_BYTE_SOURCE_H_
