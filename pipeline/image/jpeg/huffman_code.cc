#include "pipeline/image/jpeg/huffman_code.h"

#include <algorithm>
#include <cstring>

namespace penstock::image {
namespace {

constexpr size_t kLooks = size_t{1} << HuffmanCode::kLookBits;

// Repeats the first `period` of `count` entries; both are powers of two. Copies sixteen bytes at a time, because most
// runs are short.
template <typename Entry>
void Repeat(Entry* entries, size_t period, size_t count) {
  constexpr size_t kStep = 16 / sizeof(Entry);
  for (; period < count && period < kStep; period *= 2) {
    for (size_t i = 0; i < period; ++i) entries[period + i] = entries[i];
  }
  for (size_t made = period; made < count; made += kStep) std::memcpy(entries + made, entries + made - period, 16);
}

}  // namespace

inline HuffmanCode::Symbol HuffmanCode::SymbolOf(uint8_t byte, int length) const {
  const int run = byte >> 4, size = byte & 15;
  Symbol symbol{static_cast<uint8_t>(length), static_cast<uint8_t>(run), static_cast<uint8_t>(size)};
  // Symbols without a value: 15 zeros and one more, or the end of the block, whatever the run.
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

  uint32_t code = 0;  // has `length` bits
  int number = 0;     // index of its symbol
  for (int length = 1; length <= kMaxLength; ++length, code <<= 1) {
    const size_t l = static_cast<size_t>(length);
    const int codes = lengths_[l];
    offset_[l] = number - static_cast<int32_t>(code);
    // A code of only ones is not allowed (T.81, Annex C).
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
      Pair* const first = &pairs_[code << (kLookBits - length)];
      *first = pair;
      Repeat(first, 1, size_t{1} << (kLookBits - length));
    }
    end_[l] = code << (kMaxLength - length);
  }
  std::fill(pairs_.begin() + (end_[kLookBits] >> (kMaxLength - kLookBits)), pairs_.end(), Pair{});
  if (kind == Kind::kAc) FillSeconds();
  built_ = true;
  return true;
}

// Fills the strides and, in place, the second symbols of the pairs. It reads only the first symbol of a following
// entry, which does not change.
void HuffmanCode::FillSeconds() {
  for (size_t look = 0; look < kLooks;) {
    const Pair one = pairs_[look];
    if (one.bits == 0) {
      std::fill(strides_.begin() + static_cast<ptrdiff_t>(look), strides_.end(), Stride{});  // no codes from here on
      return;
    }
    // The lookups that begin with this symbol. The entries that follow it are the same for each of its values.
    const size_t looks = kLooks >> one.length;
    const size_t follow = one.first == kEndOfBlock ? 1 : kLooks >> std::min<int>(one.bits, kLookBits);
    for (size_t i = 0; i < follow; ++i) {
      strides_[look + i] = StrideFrom(one, i << one.bits);
      if (follow > 1) AddSecond(pairs_[i << one.bits], i << one.bits, &pairs_[look + i]);
    }
    Repeat(&strides_[look], follow, looks);
    Repeat(&pairs_[look], follow, looks);
    look += looks;
  }
}

// Returns the stride of the symbol `one` and the bits `behind` that follow it in the lookup.
HuffmanCode::Stride HuffmanCode::StrideFrom(const Pair& one, size_t behind) const {
  int bits = one.length + one.size;  // the first value may extend beyond the lookup
  int coefficients = one.first == kEndOfBlock ? kEndOfBlock : one.first + 1;
  while (bits < kLookBits && coefficients < kBlockSize) {
    const Pair& next = pairs_[behind];
    const int more = next.length + next.size;
    if (more == 0 || bits + more > kLookBits) break;
    bits += more;
    coefficients += next.first == kEndOfBlock ? kEndOfBlock : next.first + 1;
    behind = behind << more & (kLooks - 1);
  }
  return {static_cast<uint8_t>(bits), static_cast<uint8_t>(coefficients)};
}

// A second value has at most seven bits, because at most one of two codes has a single bit.
inline void HuffmanCode::AddSecond(const Pair& two, size_t behind, Pair* pair) {
  static_assert(kLookBits - 3 <= 7, "second_value holds what is left of a look");
  const int more = two.length + two.size;
  if (more == 0 || pair->bits + more > kLookBits) return;
  pair->bits = static_cast<uint8_t>(pair->bits + more);
  pair->second = static_cast<uint8_t>(two.first == kEndOfBlock ? kEndOfBlock : two.first + 1);
  pair->second_value = static_cast<int8_t>(two.FirstValue(uint64_t{behind} << (64 - kLookBits)));
}

HuffmanCode::Symbol HuffmanCode::Find(uint64_t next_bits) const {
  const uint32_t next = static_cast<uint32_t>(next_bits >> (64 - kMaxLength));
  const Pair& look = pair(next_bits);
  for (size_t length = look.bits != 0 ? look.length : size_t{kLookBits + 1}; length <= kMaxLength; ++length) {
    if (next >= end_[length]) continue;
    const int32_t code = static_cast<int32_t>(next >> (kMaxLength - length));
    return SymbolOf(symbols_[static_cast<size_t>(code + offset_[length])], static_cast<int>(length));
  }
  return {};
}

}  // namespace penstock::image
