// Reads the bits of a JPEG's entropy-coded data, without stuffed zeros, one restart interval at a time. Pure; does not
// use libjpeg. Source: ITU-T T.81, F.1.2.3 (stuffing), E.1.4 (restart intervals).
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_SCAN_BITS_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_SCAN_BITS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock::image {

// Reads the bits of a buffer. The next bit is the highest of `bits`.
struct BitReader {
  uint64_t bits = 0;  // `count` valid bits, followed by later bits or zeros
  int count = 0;
  const uint8_t* next = nullptr;  // the byte after the counted bits

  // Fills `bits` to at least 56 bits. Reads eight bytes at `next`.
  void Refill() {
    static_assert(std::endian::native == std::endian::little);
    uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    bits |= __builtin_bswap64(word) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  uint32_t Peek(int n) const { return static_cast<uint32_t>(bits >> (64 - n)); }  // n: 1 to 32
  void Skip(int n) {                                                              // n: at most count
    bits <<= n;
    count -= n;
  }
};

class ScanBits {
 public:
  // Maximum bytes of one block: 64 codes of 16 bits with values of 15 bits, and the bytes that Refill reads ahead.
  static constexpr ptrdiff_t kBlockBytes = 264;
  static constexpr int kNoMarker = -1;

  // Starts at `from`, the first byte of a restart interval. Reads no byte at or after `end`.
  void Start(const uint8_t* from, const uint8_t* end, BitReader* reader);

  // Ensures that kBlockBytes can be read, with zeros after the interval's end. Call before each block. A reader beyond
  // the end stays there, and Sound() returns false.
  void Prepare(BitReader* reader) {
    if (limit_ - reader->next >= kBlockBytes) return;
    if (ended_) {
      if (reader->next > limit_ + kBehind) reader->next = limit_ + kBehind;
      return;
    }
    BitReader copy = *reader;  // a copy, so that the caller's reader stays in registers
    More(&copy);
    *reader = copy;
  }

  // Returns whether all bits that were read exist. If no marker was found, bytes that a decoder would read ahead must
  // also exist.
  bool Sound(const BitReader& reader) const { return Left(reader) >= (ended_ && marker_ == kNoMarker ? 64 : 0); }
  // Returns whether the interval was read to its end, except for padding.
  bool AtEnd(const BitReader& reader) const { return ended_ && Left(reader) >= 0 && Left(reader) < 8; }
  // Returns the second byte of the marker that ends the interval, if it was reached. Otherwise kNoMarker, as at the end
  // of the file or at fill bytes.
  int marker() const { return marker_; }
  // Starts the interval after the marker.
  void StartNext(BitReader* reader) { Start(source_ + 2, end_, reader); }

 private:
  // A valid reader never gets this far beyond the end, because at most 63 of its bits are unread.
  static constexpr ptrdiff_t kBehind = 8;

  void More(BitReader* reader);
  int64_t Left(const BitReader& reader) const { return int64_t{8} * (limit_ - reader.next) + reader.count; }

  const uint8_t* source_ = nullptr;  // the next byte to copy; the marker if ended_
  const uint8_t* end_ = nullptr;
  const uint8_t* limit_ = nullptr;  // end of the copied bytes
  bool ended_ = false;              // copied up to the marker or the end of the file
  int marker_ = kNoMarker;
  std::array<uint8_t, 8192> buffer_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_SCAN_BITS_H_
