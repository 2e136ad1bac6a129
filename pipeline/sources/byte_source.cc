#include "pipeline/sources/byte_source.h"

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"

namespace penstock::sources {
namespace {

constexpr size_t kSmallestRead = 4 << 10;

}  // namespace

PlainSource::PlainSource(const RandomAccessFile* file, uint64_t size)
    : file_(file), size_(size), unit_(file->read_unit()), buffer_(std::min<uint64_t>(size, unit_)), next_read_(unit_) {}

absl::Status PlainSource::Fill() {
  begin_ = end_ = 0;
  const uint64_t left = size_ - position_;
  const size_t length = static_cast<size_t>(std::min<uint64_t>(left, next_read_));
  next_read_ = std::min(next_read_ * 2, unit_);
  if (length == 0) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(end_, file_->ReadAt(position_, length, buffer_.data()));
  return absl::OkStatus();
}

absl::StatusOr<size_t> PlainSource::Read(char* out, size_t length) {
  size_t done = 0;
  while (done < length) {
    if (begin_ == end_) {
      PS_RETURN_IF_ERROR(Fill());
      if (begin_ == end_) break;
    }
    const size_t n = std::min(length - done, end_ - begin_);
    std::memcpy(out + done, buffer_.data() + begin_, n);
    begin_ += n;
    position_ += n;
    done += n;
  }
  return done;
}

absl::StatusOr<uint64_t> PlainSource::Skip(uint64_t length) {
  length = std::min(length, size_ - position_);
  uint64_t left = length;
  const uint64_t buffered = std::min<uint64_t>(left, end_ - begin_);
  begin_ += buffered;
  position_ += buffered;
  left -= buffered;
  // Up to this length, reading is cheaper than another request, and it keeps the kernel's readahead active.
  if (left > unit_) {
    position_ += left;
    next_read_ = kSmallestRead;
    return length;
  }
  while (left > 0) {
    PS_RETURN_IF_ERROR(Fill());
    if (begin_ == end_) return length - left;
    const uint64_t n = std::min<uint64_t>(left, end_ - begin_);
    begin_ += n;
    position_ += n;
    left -= n;
  }
  return length;
}

}  // namespace penstock::sources
