// The Huffman codes of a DEFLATE block as lookup tables. Pure.
//
// Accepts only codes that zlib accepts. It rejects over-subscribed and incomplete codes. Exception: a distance code may
// be empty, or have one symbol whose code is one bit long. Source: RFC 1951, 3.2.5 to 3.2.7.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_DEFLATE_CODE_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_DEFLATE_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::image {

constexpr int kMaxDeflateCode = 15;
constexpr size_t kLiteralSymbols = 288, kDistanceSymbols = 32;

// The meaning of the next bits as one number:
//
//   literals  kDeflateLiteral, the byte in bits 8 to 15, a second byte in bits 16 to 23, their number in bits 24 and 25
//   number    a length or a distance: its base in bits 16 to 30, the length of its code in bits 8 to 11
//   other     kDeflateOther with kDeflateTable, kDeflateBlockEnd, or neither for an invalid code
//
// For kDeflateTable, bits 8 to 23 are the index of the table's first entry. The bits after the first lookup select an
// entry of the table.
//
// The lowest six bits are the number of bits that the entry takes, including extra bits. For kDeflateTable they are the
// number of bits of the first lookup.
using DeflateEntry = uint32_t;

constexpr DeflateEntry kDeflateLiteral = 1u << 31, kDeflateOther = 1u << 7, kDeflateTable = 1u << 6,
                       kDeflateBlockEnd = 1u << 24;
constexpr size_t LiteralsOf(DeflateEntry entry) { return entry >> 24 & 3; }

class LiteralCode {
 public:
  static constexpr int kLookBits = 11;

  // Builds the tables from `count` code lengths of 0 to 15 (257 to 286 of them, or 288 for the fixed code). Returns
  // false if they do not form a valid code.
  bool Build(const uint8_t* lengths, size_t count);
  DeflateEntry Look(uint64_t bits) const { return entries_[bits & ((1u << kLookBits) - 1)]; }
  // Returns the entry of a longer code. `table` is the result of Look(), and `bits` are the bits after the first
  // lookup.
  DeflateEntry LookFurther(DeflateEntry table, uint64_t bits) const {
    return entries_[(table >> 8 & 0xFFFF) + (bits & ((1u << (kMaxDeflateCode - kLookBits)) - 1))];
  }

 private:
  void FillPairs();

  // There are at most half as many tables for second lookups as symbols, because each table serves at least two.
  std::array<DeflateEntry, (1 << kLookBits) + kLiteralSymbols / 2 * (1 << (kMaxDeflateCode - kLookBits))> entries_;
};

class DistanceCode {
 public:
  static constexpr int kLookBits = 9;

  // Builds the tables from `count` (1 to 32) code lengths. Returns false if they do not form a valid code.
  bool Build(const uint8_t* lengths, size_t count);
  DeflateEntry Look(uint64_t bits) const { return entries_[bits & ((1u << kLookBits) - 1)]; }
  DeflateEntry LookFurther(DeflateEntry table, uint64_t bits) const {
    return entries_[(table >> 8 & 0xFFFF) + (bits & ((1u << (kMaxDeflateCode - kLookBits)) - 1))];
  }

 private:
  std::array<DeflateEntry, (1 << kLookBits) + kDistanceSymbols / 2 * (1 << (kMaxDeflateCode - kLookBits))> entries_;
};

// The code that encodes the code lengths of a block.
class LengthsCode {
 public:
  static constexpr int kLookBits = 7;
  static constexpr size_t kSymbols = 19;

  // Builds the table from kSymbols code lengths of 0 to 7, in the order of the symbols. Returns false if they do not
  // form a valid code.
  bool Build(const uint8_t* lengths);
  // Returns the symbol in bits 8 to 15 and the number of its bits in the lowest six.
  DeflateEntry Look(uint64_t bits) const { return entries_[bits & ((1u << kLookBits) - 1)]; }

 private:
  std::array<DeflateEntry, 1 << kLookBits> entries_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_DEFLATE_CODE_H_
