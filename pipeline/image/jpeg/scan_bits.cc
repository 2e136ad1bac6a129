#include "pipeline/image/jpeg/scan_bits.h"

#include <algorithm>

namespace penstock {

void ScanBits::Start(const uint8_t* from, const uint8_t* end, BitReader* reader) {
  source_ = from;
  end_ = end;
  limit_ = buffer_.data();
  ended_ = false;
  marker_ = kNoMarker;
  *reader = {.next = limit_};
  More(reader);
}

void ScanBits::More(BitReader* reader) {
  const size_t left = static_cast<size_t>(limit_ - reader->next);
  uint8_t* at = buffer_.data();
  std::memmove(at, reader->next, left);
  reader->next = at;
  at += left;
  uint8_t* const full = buffer_.data() + buffer_.size() - kBlockBytes;  // room for the zeros
  while (at < full) {
    const size_t room = static_cast<size_t>(std::min(full - at, end_ - source_));
    const void* found = room == 0 ? nullptr : std::memchr(source_, 0xFF, room);
    const size_t plain = found == nullptr ? room : static_cast<size_t>(static_cast<const uint8_t*>(found) - source_);
    std::memcpy(at, source_, plain);
    at += plain;
    source_ += plain;
    if (found == nullptr && source_ < end_) break;  // full
    // Nothing, half a marker, or fill bytes before one (T.81, B.1.1.2), behind which a decoder looks for it.
    if (end_ - source_ < 2 || source_[1] == 0xFF) {
      ended_ = true;
      break;
    }
    if (source_[1] != 0) {
      ended_ = true;
      marker_ = source_[1];
      break;
    }
    *at++ = 0xFF;
    source_ += 2;
  }
  limit_ = at;
  if (ended_) std::memset(at, 0, kBlockBytes);
}

}  // namespace penstock
