#include "pipeline/image/jpeg/huffman_code.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr size_t kMask = (size_t{1} << HuffmanCode::kLookBits) - 1;

}  // namespace

HuffmanCode::Symbol HuffmanCode::SymbolOf(uint8_t byte, int length) const {
  const int run = byte >> 4, size = byte & 15;
  Symbol symbol{static_cast<uint8_t>(length), static_cast<uint8_t>(run), static_cast<uint8_t>(size)};
  // Without a value: fifteen zeros and one more, or (whatever the run) the block's end.
  if (kind_ == Kind::kAc && size == 0 && run != 15) symbol.run = kEndOfBlock;
  return symbol;
}

bool HuffmanCode::Build(Kind kind, const uint8_t lengths[kMaxLength + 1], const uint8_t symbols[256]) {
  if (built_ && kind == kind_ && std::equal(lengths_.begin() + 1, lengths_.end(), lengths + 1) &&
      std::equal(symbols_.begin(), symbols_.end(), symbols)) {
    return true;
  }
  built_ = false;
  kind_ = kind;
  std::copy(lengths + 1, lengths + kMaxLength + 1, lengths_.begin() + 1);
  std::copy(symbols, symbols + 256, symbols_.begin());
  pairs_.fill({});

  uint32_t code = 0;  // of `length` bits
  int number = 0;     // of its symbol
  for (int length = 1; length <= kMaxLength; ++length, code <<= 1) {
    const size_t l = static_cast<size_t>(length);
    const int codes = lengths_[l];
    offset_[l] = number - static_cast<int32_t>(code);
    // A code of ones alone is none (T.81, Annex C).
    if (codes > 0 && code + static_cast<uint32_t>(codes) >= 1u << length) return false;
    if (number + codes > 256) return false;
    for (int i = 0; i < codes; ++i, ++code, ++number) {
      const uint8_t byte = symbols_[static_cast<size_t>(number)];
      if (kind == Kind::kDc && byte > 15) return false;
      if (length > kLookBits) continue;
      const Symbol symbol = SymbolOf(byte, length);
      const Pair pair{.bits = static_cast<uint8_t>(length + symbol.size),
                      .length = symbol.length,
                      .size = symbol.size,
                      .first = symbol.run,
                      .second = 0,
                      .second_value = 0,
                      .base = static_cast<int16_t>(1 - (1 << symbol.size))};
      const size_t first = code << (kLookBits - length), count = size_t{1} << (kLookBits - length);
      std::fill_n(pairs_.begin() + static_cast<ptrdiff_t>(first), count, pair);
    }
    end_[l] = code << (kMaxLength - length);
  }
  if (kind == Kind::kAc) {
    FillStrides();
    FillSeconds();
  }
  built_ = true;
  return true;
}

// Of entries with one symbol each, which is what strides_ are made of.
void HuffmanCode::FillStrides() {
  for (size_t look = 0; look <= kMask; ++look) {
    Pair one = pairs_[look];
    int bits = 0, coefficients = 0;
    do {  // the first one's value may reach behind the look
      bits += one.bits;
      coefficients += one.first == kEndOfBlock ? kEndOfBlock : one.first + 1;
      if (one.bits == 0 || bits >= kLookBits || coefficients >= kBlockSize) break;
      one = pairs_[(look << bits) & kMask];
    } while (one.bits != 0 && bits + one.bits <= kLookBits);
    strides_[look] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(coefficients)};
  }
}

// In place: of the entry that follows only what its first symbol says is read. A second value has seven bits at most:
// of two codes no more than one has a single bit.
void HuffmanCode::FillSeconds() {
  static_assert(kLookBits - 3 <= 7, "second_value holds what is left of a look");
  for (size_t look = 0; look <= kMask; ++look) {
    Pair& pair = pairs_[look];
    if (pair.bits == 0 || pair.bits >= kLookBits || pair.first == kEndOfBlock) continue;
    const size_t next = (look << pair.bits) & kMask;
    const Pair two = pairs_[next];
    const int bits = two.length + two.size;
    if (two.bits == 0 || pair.bits + bits > kLookBits) continue;
    const int value = two.FirstValue(uint64_t{next} << (64 - kLookBits));
    pair.bits = static_cast<uint8_t>(pair.bits + bits);
    pair.second = static_cast<uint8_t>(two.first == kEndOfBlock ? kEndOfBlock : two.first + 1);
    pair.second_value = static_cast<int8_t>(value);
  }
}

HuffmanCode::Symbol HuffmanCode::Find(uint64_t next_bits) const {
  const uint32_t next = static_cast<uint32_t>(next_bits >> (64 - kMaxLength));
  for (size_t length = 1; length <= kMaxLength; ++length) {
    if (next >= end_[length]) continue;
    const int32_t code = static_cast<int32_t>(next >> (kMaxLength - length));
    return SymbolOf(symbols_[static_cast<size_t>(code + offset_[length])], static_cast<int>(length));
  }
  return {};
}

}  // namespace penstock
