// The Huffman code of a baseline JPEG as lookup tables. Pure; does not use libjpeg.
//
// A symbol states how many zero coefficients precede (run) and how many bits of value follow it (size). A single lookup
// of the next kLookBits bits finds the symbol's length and run. It also finds the value if the value's bits are among
// them.
//
// Source: ITU-T T.81, Annex C (codes from lengths), F.1.2 (symbols and values), F.2.2.3 (codes without a table).
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_HUFFMAN_CODE_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_HUFFMAN_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::image {

// Coefficients of a block, 8 x 8 in natural order.
constexpr int kBlockSize = 64;

class HuffmanCode {
 public:
  static constexpr int kLookBits = 10;
  static constexpr int kMaxLength = 16;
  // Amount that an end-of-block symbol adds to the coefficient index.
  static constexpr int kEndOfBlock = 128;

  enum class Kind { kDc, kAc };

  // Builds the tables from a DHT segment: `lengths[l]` codes of l bits (l = 1 to 16) for `symbols`. Returns false if
  // they do not form a code, or if a DC symbol is larger than 15. Does nothing if the arguments equal those of the last
  // successful call.
  bool Build(Kind kind, const uint8_t lengths[kMaxLength + 1], const uint8_t symbols[256]);

  struct Symbol {
    uint8_t length, run, size;
  };
  // The result of a lookup: the next one or two symbols. `bits` is 0 if the lookup is too short for the first symbol's
  // code. The first symbol's value may extend beyond the lookup. An AC entry includes a second symbol if the lookup
  // holds both completely. The second coefficient is `second` places after the first; 0 means that there is no second
  // symbol. kEndOfBlock in `first` or `second` is the end of the block.
  struct Pair {
    uint8_t bits;          // length of all codes and values
    uint8_t length, size;  // lengths of the first code and its value
    uint8_t first;         // zero coefficients before the first
    uint8_t second;
    int8_t second_value;
    int16_t base;  // added to a value that begins with a zero bit (T.81, F.2.2.1)

    // Returns the first symbol's value from the bits that were looked up. It has no branch and is off the critical path
    // to the next lookup.
    int FirstValue(uint64_t next_bits) const {
      const uint64_t value = next_bits << length;
      return static_cast<int>(value >> 1 >> (63 - size)) +
             (base & ~static_cast<int>(static_cast<int64_t>(value) >> 63));
    }
  };
  // All symbols of a block that the lookup holds, for callers that skip the values. `coefficients` is the amount that
  // they add to the coefficient index. `bits` is 0 as above. For AC codes only.
  struct Stride {
    uint8_t bits, coefficients;
  };

  const Pair& pair(uint64_t next_bits) const { return pairs_[next_bits >> (64 - kLookBits)]; }
  Stride stride(uint64_t next_bits) const { return strides_[next_bits >> (64 - kLookBits)]; }
  // Returns the symbol, of any length, at the start of 64 bits. Its length is 0 if there is no such code.
  Symbol Find(uint64_t next_bits) const;

  // Returns the value that `size` bits (1 to 15) represent (T.81, F.2.2.1, EXTEND).
  static int Extend(uint32_t bits, int size) {
    return static_cast<int>(bits) - (bits < (1u << (size - 1)) ? (1 << size) - 1 : 0);
  }

 private:
  Symbol SymbolOf(uint8_t byte, int length) const;
  void FillSeconds();
  Stride StrideFrom(const Pair& one, size_t behind) const;
  static void AddSecond(const Pair& two, size_t behind, Pair* pair);

  std::array<Pair, 1 << kLookBits> pairs_{};
  std::array<Stride, 1 << kLookBits> strides_{};
  // For each length: its last code plus one, left-aligned in 16 bits, and the offset from a code to its symbol's index.
  std::array<uint32_t, kMaxLength + 1> end_{};
  std::array<int32_t, kMaxLength + 1> offset_{};
  std::array<uint8_t, kMaxLength + 1> lengths_{};
  std::array<uint8_t, 256> symbols_{};
  Kind kind_ = Kind::kDc;
  bool built_ = false;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_HUFFMAN_CODE_H_
