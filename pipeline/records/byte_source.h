// A shard's stream, front to back: the file itself, or what it inflates to. Internal to records/.
#ifndef PENSTOCK_PIPELINE_RECORDS_BYTE_SOURCE_H_
#define PENSTOCK_PIPELINE_RECORDS_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to `length` bytes into `out`; fewer only at the end of the stream or before damage, which the next call returns.
  // DataLoss: the compressed data is damaged. Other errors come from the file.
  virtual absl::StatusOr<size_t> Read(char* out, size_t length) = 0;
  // Moves on by up to `length` bytes and returns by how many; like Read without the bytes.
  virtual absl::StatusOr<uint64_t> Skip(uint64_t length) = 0;
  // Bytes of the file that are done.
  virtual uint64_t file_position() const = 0;
};

// The file as it is, through a buffer. Long skips are not read.
class PlainSource final : public ByteSource {
 public:
  // `file` must outlive this; `size` is its size.
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
  // buffer_[begin_, end_) are the file's bytes from position_ on.
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  size_t next_read_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_BYTE_SOURCE_H_
