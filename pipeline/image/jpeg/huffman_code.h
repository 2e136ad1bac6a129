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

  // A symbol and its value; `bits` is 0 when the look is too short for the value, which then follows behind `length`
  // bits and has `size`; `length` is 0 when it is too short for the symbol itself.
  struct Look {
    int16_t value;
    uint8_t bits;  // of symbol and value
    uint8_t run;   // zero coefficients before it; kEndOfBlock
  };
  struct Symbol {
    uint8_t length, run, size;
  };
  // The same without its value: 0 bits when the look is too short for the symbol. `bits` of symbol and value, `length`
  // of the symbol alone.
  struct Step {
    uint8_t bits, length, run;
  };

  // One or two symbols with their values, of AC: a coefficient `first` places on, another `second` places behind it.
  // kEndOfBlock in either is the block's end; `second` is 0, with the first value again, where there is only one.
  struct Pair {
    uint8_t bits, first, second;
    int16_t values[2];
  };
  // All symbols of a block that the look holds, for those who want none of their values: what they add to the number of
  // the next coefficient. 0 bits as above. AC alone.
  struct Stride {
    uint8_t bits, coefficients;
  };

  Look look(uint64_t next_bits) const { return looks_[next_bits >> (64 - kLookBits)]; }
  Step step(uint64_t next_bits) const { return steps_[next_bits >> (64 - kLookBits)]; }
  Pair pair(uint64_t next_bits) const { return pairs_[next_bits >> (64 - kLookBits)]; }
  Stride stride(uint64_t next_bits) const { return strides_[next_bits >> (64 - kLookBits)]; }
  // The symbol at the head of 64 bits, of any length; its length is 0 when there is none.
  Symbol Find(uint64_t next_bits) const;

  // The value that `size` bits stand for, 1 to 15 (T.81, F.2.2.1, EXTEND).
  static int Extend(uint32_t bits, int size) {
    return static_cast<int>(bits) - (bits < (1u << (size - 1)) ? (1 << size) - 1 : 0);
  }

 private:
  Symbol SymbolOf(uint8_t byte, int length) const;
  void FillPairs();
  void FillStrides();

  std::array<Look, 1 << kLookBits> looks_;
  std::array<Step, 1 << kLookBits> steps_;
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
