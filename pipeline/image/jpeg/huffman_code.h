// A Huffman code of a baseline JPEG as tables to decode with. Pure, no libjpeg.
//
// A symbol tells how many zero coefficients come first (run) and how many bits of value follow it (size). The next
// kLookBits bits find the symbol's length, run and, where its bits are among them, its value in one look.
//
// Source: ITU-T T.81, Annex C (codes from lengths), F.1.2 (symbols and values), F.2.2.3 (codes without a table).
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_HUFFMAN_CODE_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_HUFFMAN_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

// Of a block: 8 x 8 coefficients in natural order.
constexpr int kBlockSize = 64;

class HuffmanCode {
 public:
  static constexpr int kLookBits = 10;
  static constexpr int kMaxLength = 16;
  // What an end-of-block symbol adds to a coefficient's number.
  static constexpr int kEndOfBlock = 128;

  enum class Kind { kDc, kAc };

  // Of `lengths[l]` codes of l bits (l = 1 to 16) for `symbols`, as a DHT segment has them. False when that is no
  // code, or a DC symbol is larger than 15. Nothing is done when they are those of the last call.
  bool Build(Kind kind, const uint8_t lengths[kMaxLength + 1], const uint8_t symbols[256]);

  struct Symbol {
    uint8_t length, run, size;
  };
  // What the look says of the symbols that come next. Nothing (0 bits) where it is too short for the first one's code;
  // the first one's value may reach behind it. Of AC a second symbol is in it where the look holds both as a whole:
  // its coefficient is `second` places behind the first one's, which is 0 where there is none. kEndOfBlock in `first`
  // or in `second` is the block's end.
  struct Pair {
    uint8_t bits;          // of codes and values
    uint8_t length, size;  // of the first one's code and value
    uint8_t first;         // zero coefficients before it
    uint8_t second;
    int8_t second_value;
    int16_t base;  // what a value that begins with a zero has added (T.81, F.2.2.1)

    // The first one's value, from the bits that were looked up. No branch, and not on the way to the next look.
    int FirstValue(uint64_t next_bits) const {
      const uint64_t value = next_bits << length;
      return static_cast<int>(value >> 1 >> (63 - size)) +
             (base & ~static_cast<int>(static_cast<int64_t>(value) >> 63));
    }
  };
  // All symbols of a block that the look holds, for those who want none of their values: what they add to the number of
  // the next coefficient. 0 bits as above. AC alone.
  struct Stride {
    uint8_t bits, coefficients;
  };

  const Pair& pair(uint64_t next_bits) const { return pairs_[next_bits >> (64 - kLookBits)]; }
  Stride stride(uint64_t next_bits) const { return strides_[next_bits >> (64 - kLookBits)]; }
  // The symbol at the head of 64 bits, of any length; its length is 0 when there is none.
  Symbol Find(uint64_t next_bits) const;

  // The value that `size` bits stand for, 1 to 15 (T.81, F.2.2.1, EXTEND).
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
  // For each length: one more than its last code, in 16 bits from the top; and what makes a code a symbol's number.
  std::array<uint32_t, kMaxLength + 1> end_{};
  std::array<int32_t, kMaxLength + 1> offset_{};
  std::array<uint8_t, kMaxLength + 1> lengths_{};
  std::array<uint8_t, 256> symbols_{};
  Kind kind_ = Kind::kDc;
  bool built_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_HUFFMAN_CODE_H_
