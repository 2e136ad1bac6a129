#include "pipeline/image/jpeg/scan_bits.h"

#include <bit>
#include <cstring>

#include "pipeline/image/jpeg/marker_scan.h"

namespace penstock::image {

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
  const uint8_t* source = source_;
  constexpr ptrdiff_t kZeros = kBehind + kBlockBytes;
  // Leaves room for the zeros, and for the excess bytes of a copy step.
  uint8_t* const full = buffer_.data() + buffer_.size() - kZeros - kScanStep;
  while (at < full) {
    if (end_ - source > kScanStep) {
      const uint32_t found = CopyStep(source, at);
      // Without a match, the start of the next step does not depend on this one.
      if (found == 0) {
        at += kScanStep;
        source += kScanStep;
        continue;
      }
      at += std::countr_zero(found);
      source += std::countr_zero(found);
    } else if (source < end_ && *source != 0xFF) {
      *at++ = *source++;
      continue;
    }
    // The end of the data, half a marker, or fill bytes before a marker (T.81, B.1.1.2), after which a decoder searches
    // for the marker.
    if (end_ - source < 2 || source[1] == 0xFF) {
      ended_ = true;
      break;
    }
    if (source[1] != 0) {
      ended_ = true;
      marker_ = source[1];
      break;
    }
    *at++ = 0xFF;
    source += 2;
  }
  source_ = source;
  limit_ = at;
  if (ended_) std::memset(at, 0, kZeros);
}

}  // namespace penstock::image
