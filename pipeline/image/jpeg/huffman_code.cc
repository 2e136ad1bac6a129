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
  looks_.fill({});
  steps_.fill({});

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
      const int bits = length + symbol.size;
      const uint32_t first = code << (kLookBits - length), count = 1u << (kLookBits - length);
      for (uint32_t look = first; look < first + count; ++look) {
        steps_[look] = {static_cast<uint8_t>(bits), symbol.length, symbol.run};
        if (bits > kLookBits) continue;
        const uint32_t value = (look >> (kLookBits - bits)) & ((1u << symbol.size) - 1);
        looks_[look] = {static_cast<int16_t>(symbol.size == 0 ? 0 : Extend(value, symbol.size)),
                        static_cast<uint8_t>(bits), symbol.run};
      }
    }
    end_[l] = code << (kMaxLength - length);
  }
  if (kind == Kind::kAc) {
    FillPairs();
    FillStrides();
  }
  built_ = true;
  return true;
}

void HuffmanCode::FillPairs() {
  for (size_t look = 0; look <= kMask; ++look) {
    const Look one = looks_[look];
    Pair pair{one.bits, one.run, 0, {one.value, one.value}};
    if (one.bits != 0 && one.run != kEndOfBlock) {
      const Look two = looks_[(look << one.bits) & kMask];
      if (two.bits != 0 && one.bits + two.bits <= kLookBits) {
        pair.bits = static_cast<uint8_t>(one.bits + two.bits);
        pair.second = static_cast<uint8_t>(two.run == kEndOfBlock ? kEndOfBlock : two.run + 1);
        pair.values[1] = two.value;
      }
    }
    pairs_[look] = pair;
  }
}

void HuffmanCode::FillStrides() {
  for (size_t look = 0; look <= kMask; ++look) {
    Step step = steps_[look];
    int bits = 0, coefficients = 0;
    do {  // the first one's value may reach behind the look
      bits += step.bits;
      coefficients += step.run == kEndOfBlock ? kEndOfBlock : step.run + 1;
      if (step.bits == 0 || bits >= kLookBits || coefficients >= kBlockSize) break;
      step = steps_[(look << bits) & kMask];
    } while (step.bits != 0 && bits + step.bits <= kLookBits);
    strides_[look] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(coefficients)};
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
