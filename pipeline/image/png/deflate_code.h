// The Huffman codes of a DEFLATE block as tables to decode with. Pure.
//
// Built only from what zlib takes: a code that is over-subscribed or incomplete is refused, except a distance code of
// one code of one bit, or of none. Source: RFC 1951, 3.2.5 to 3.2.7.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_DEFLATE_CODE_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_DEFLATE_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

constexpr int kMaxDeflateCode = 15;
constexpr size_t kLiteralSymbols = 288, kDistanceSymbols = 32;

// What the next bits stand for, as one number:
//
//   literals  kDeflateLiteral, the bytes in bits 8 to 15 and, of two, 16 to 23; their number in bits 24 and 25
//   number    a length or a distance: its base in bits 16 to 30, the bits of its code in bits 8 to 11
//   other     kDeflateOther with kDeflateTable, kDeflateBlockEnd, or neither: no such code
//
// Bits 8 to 23 of kDeflateTable: where its entries begin; the bits above the first look-up choose among them.
//
// The lowest six bits: how many bits it takes, extra bits included; of kDeflateTable those of the first look-up.
using DeflateEntry = uint32_t;

constexpr DeflateEntry kDeflateLiteral = 1u << 31, kDeflateOther = 1u << 7, kDeflateTable = 1u << 6,
                       kDeflateBlockEnd = 1u << 24;
constexpr size_t LiteralsOf(DeflateEntry entry) { return entry >> 24 & 3; }

class LiteralCode {
 public:
  static constexpr int kLookBits = 11;

  // Of `count` (257 to 286, or 288 of the fixed code) code lengths, 0 to 15. False: no such code.
  bool Build(const uint8_t* lengths, size_t count);
  DeflateEntry Look(uint64_t bits) const { return entries_[bits & ((1u << kLookBits) - 1)]; }
  // `table` is what Look gave, `bits` those behind it.
  DeflateEntry LookFurther(DeflateEntry table, uint64_t bits) const {
    return entries_[(table >> 8 & 0xFFFF) + (bits & ((1u << (kMaxDeflateCode - kLookBits)) - 1))];
  }

 private:
  void FillPairs();

  // A first look-up is followed by one more for at most half of the symbols.
  std::array<DeflateEntry, (1 << kLookBits) + kLiteralSymbols / 2 * (1 << (kMaxDeflateCode - kLookBits))> entries_;
};

class DistanceCode {
 public:
  static constexpr int kLookBits = 9;

  // Of `count` (1 to 32) code lengths.
  bool Build(const uint8_t* lengths, size_t count);
  DeflateEntry Look(uint64_t bits) const { return entries_[bits & ((1u << kLookBits) - 1)]; }
  DeflateEntry LookFurther(DeflateEntry table, uint64_t bits) const {
    return entries_[(table >> 8 & 0xFFFF) + (bits & ((1u << (kMaxDeflateCode - kLookBits)) - 1))];
  }

 private:
  std::array<DeflateEntry, (1 << kLookBits) + kDistanceSymbols / 2 * (1 << (kMaxDeflateCode - kLookBits))> entries_;
};

// The code that the lengths of a block's codes are written in.
class LengthsCode {
 public:
  static constexpr int kLookBits = 7;
  static constexpr size_t kSymbols = 19;

  // Of kSymbols code lengths, 0 to 7, in the order of the symbols.
  bool Build(const uint8_t* lengths);
  // The symbol in bits 8 to 15, the bits it takes in the lowest six.
  DeflateEntry Look(uint64_t bits) const { return entries_[bits & ((1u << kLookBits) - 1)]; }

 private:
  std::array<DeflateEntry, 1 << kLookBits> entries_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_DEFLATE_CODE_H_
