// The bits of a JPEG's entropy-coded data: stuffed zeros taken out, one restart interval at a time. Pure, no libjpeg.
// Source: ITU-T T.81, F.1.2.3 (stuffing), E.1.4 (restart intervals).
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_SCAN_BITS_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_SCAN_BITS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

// The next bits of a buffer, the first of them highest in `bits`.
struct BitReader {
  uint64_t bits = 0;  // `count` of them, and behind those some that come next or zeros
  int count = 0;
  const uint8_t* next = nullptr;  // behind those that are counted

  // At least 56 are then there. Reads eight bytes at `next`.
  void Refill() {
    static_assert(std::endian::native == std::endian::little);
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    bits |= __builtin_bswap64(word) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  uint32_t Peek(int n) const { return static_cast<uint32_t>(bits >> (64 - n)); }  // 1 to 32
  void Skip(int n) {                                                              // at most count
    bits <<= n;
    count -= n;
  }
};

class ScanBits {
 public:
  // Of one block at the worst: 64 codes of 16 bits with values of 15, and what Refill reads ahead.
  static constexpr ptrdiff_t kBlockBytes = 264;
  static constexpr int kNoMarker = -1;

  // From `from`, the first byte of a restart interval; no byte at `end` or behind is read.
  void Start(const uint8_t* from, const uint8_t* end, BitReader* reader);

  // Called before each block: kBlockBytes can then be read, zeros behind the interval's end. Who reads on all the same
  // stays there, and is not Sound.
  void Prepare(BitReader* reader) {
    if (limit_ - reader->next >= kBlockBytes) return;
    if (ended_) {
      if (reader->next > limit_ + kBehind) reader->next = limit_ + kBehind;
      return;
    }
    BitReader copy = *reader;  // so that the caller's stays in registers
    More(&copy);
    *reader = copy;
  }

  // Whether all that was read was there. Where no marker is seen, bytes that a decoder would read ahead count as well.
  bool Sound(const BitReader& reader) const { return Left(reader) >= (ended_ && marker_ == kNoMarker ? 64 : 0); }
  // Whether the interval is read to its end, padding aside.
  bool AtEnd(const BitReader& reader) const { return ended_ && Left(reader) >= 0 && Left(reader) < 8; }
  // What ends it, once that was seen: a marker's second byte, or kNoMarker at the end of the file or at fill bytes.
  int marker() const { return marker_; }
  // Begins with the interval behind the marker.
  void StartNext(BitReader* reader) { Start(source_ + 2, end_, reader); }

 private:
  // So far behind the end no sound reader is: of its bits 63 at most were not taken.
  static constexpr ptrdiff_t kBehind = 8;

  void More(BitReader* reader);
  int64_t Left(const BitReader& reader) const { return int64_t{8} * (limit_ - reader.next) + reader.count; }

  const uint8_t* source_ = nullptr;  // the next byte to copy; at the marker once ended
  const uint8_t* end_ = nullptr;
  const uint8_t* limit_ = nullptr;  // of what is copied
  bool ended_ = false;              // up to the marker or the file's end
  int marker_ = kNoMarker;
  std::array<uint8_t, 8192> buffer_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_SCAN_BITS_H_
