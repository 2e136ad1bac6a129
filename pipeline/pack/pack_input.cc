#include "pipeline/pack/pack_input.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::pack {
namespace {

constexpr size_t kHeaderBytes = 8, kInputBufferBytes = 1 << 20;

uint32_t U32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<bool> PackInput::Fill(size_t bytes) {
  if (end_ - begin_ >= bytes) return true;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < bytes) {
    // Grows with the bytes received, so that a wrong length allocates no memory.
    if (end_ == buffer_.size()) buffer_.resize(std::max(kInputBufferBytes, buffer_.size() * 2));
    PS_ASSIGN_OR_RETURN(const size_t n, read_(buffer_.data() + end_, buffer_.size() - end_));
    if (n == 0) {
      if (end_ == 0) return false;
      return absl::CancelledError(absl::StrCat("the input ends within frame ", frames_));
    }
    end_ += n;
  }
  return true;
}

absl::StatusOr<PackFrame> PackInput::Next() {
  PS_ASSIGN_OR_RETURN(const bool more, Fill(kHeaderBytes));
  if (!more)
    return absl::CancelledError(absl::StrCat("the input ends after ", frames_, " frames, without an end frame"));
  const uint32_t length = U32(buffer_.data() + begin_), type = U32(buffer_.data() + begin_ + 4);
  if (type < 1 || type > 5) {
    return absl::InvalidArgumentError(absl::StrCat("frame ", frames_, " is of type ", type, "; types are 1 to 5"));
  }
  if (length > kMaxFrameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame ", frames_, " has ", length, " bytes; a record has at most ", kMaxFrameBytes));
  }
  if (type == static_cast<uint32_t>(PackFrame::Type::kGiveUp)) {
    return absl::CancelledError(absl::StrCat("the writer stopped the run after ", frames_, " frames"));
  }
  begin_ += kHeaderBytes;
  PS_ASSIGN_OR_RETURN(const bool whole, Fill(length));
  if (!whole && length > 0) return absl::CancelledError(absl::StrCat("the input ends within frame ", frames_));
  const PackFrame frame{static_cast<PackFrame::Type>(type), std::string_view(buffer_).substr(begin_, length)};
  begin_ += length;
  ++frames_;
  return frame;
}

}  // namespace penstock::pack
