#include "pipeline/image/png/deflate_code.h"

#include <algorithm>
#include <cstring>

namespace penstock::image {
namespace {

// Lengths of symbols 257 to 285, and distances of symbols 0 to 29 (RFC 1951, 3.2.5).
constexpr size_t kLengths = 29, kDistances = 30;
constexpr std::array<uint16_t, kLengths> kLengthBase = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                        31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr std::array<uint8_t, kLengths> kLengthExtra = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                        2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr std::array<uint16_t, kDistances> kDistanceBase = {
    1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
    193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr std::array<uint8_t, kDistances> kDistanceExtra = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                            6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

// Entries without the number of bits of their codes.
constexpr DeflateEntry Number(uint16_t base, uint8_t extra) { return DeflateEntry{base} << 16 | extra; }

constexpr auto kLiteralEntries = [] {
  std::array<DeflateEntry, kLiteralSymbols> entries{};
  for (size_t i = 0; i < 256; ++i) entries[i] = kDeflateLiteral | 1u << 24 | static_cast<DeflateEntry>(i) << 8;
  entries[256] = kDeflateOther | kDeflateBlockEnd;
  for (size_t i = 257; i < kLiteralSymbols; ++i) {
    entries[i] = i - 257 < kLengths ? Number(kLengthBase[i - 257], kLengthExtra[i - 257]) : kDeflateOther;
  }
  return entries;
}();
constexpr auto kDistanceEntries = [] {
  std::array<DeflateEntry, kDistanceSymbols> entries{};
  for (size_t i = 0; i < kDistanceSymbols; ++i) {
    entries[i] = i < kDistances ? Number(kDistanceBase[i], kDistanceExtra[i]) : kDeflateOther;
  }
  return entries;
}();
constexpr auto kLengthsEntries = [] {
  std::array<DeflateEntry, LengthsCode::kSymbols> entries{};
  for (size_t i = 0; i < entries.size(); ++i) entries[i] = kDeflateLiteral | static_cast<DeflateEntry>(i) << 8;
  return entries;
}();

// Returns the entry of a symbol whose code has `length` bits. In the entry of a literal, bits 8 to 11 belong to the
// byte.
DeflateEntry WithLength(DeflateEntry entry, int length) {
  const DeflateEntry bits = static_cast<DeflateEntry>(length);
  return (entry & (kDeflateLiteral | kDeflateOther)) != 0 ? entry + bits : entry + bits + (bits << 8);
}

// Symbols in the order of their codes, and the number of codes of each length.
struct SortedCode {
  std::array<uint16_t, kLiteralSymbols> symbols;
  std::array<int, kMaxDeflateCode + 1> counts{};
  int used = 0;      // symbols with a code
  int shortest = 0;  // bits of the shortest code
  int left = 0;      // unused codes of kMaxDeflateCode bits; negative if over-subscribed

  SortedCode(const uint8_t* lengths, size_t count) {
    for (size_t i = 0; i < count; ++i) ++counts[lengths[i]];
    counts[0] = 0;
    std::array<int, kMaxDeflateCode + 1> next{};
    left = 1 << kMaxDeflateCode;
    for (int length = 1; length <= kMaxDeflateCode; ++length) {
      const size_t l = static_cast<size_t>(length);
      next[l] = used;
      used += counts[l];
      if (shortest == 0 && counts[l] > 0) shortest = length;
      left -= counts[l] << (kMaxDeflateCode - length);
    }
    for (size_t i = 0; i < count; ++i) {
      if (lengths[i] != 0) symbols[static_cast<size_t>(next[lengths[i]]++)] = static_cast<uint16_t>(i);
    }
  }
};

// Fills the first 2^look_bits entries and the tables that they refer to. The code must be complete.
void FillEntries(const SortedCode& code, const DeflateEntry* of_symbols, int look_bits, DeflateEntry* entries) {
  const uint32_t look_size = 1u << look_bits, further_bits = static_cast<uint32_t>(kMaxDeflateCode - look_bits);
  uint32_t reversed = 0;  // the next code, its first bit lowest, as in the stream
  uint32_t filled = 1;    // entries filled by the codes so far, before they repeat
  uint32_t next_table = look_size, table = 0, table_prefix = ~0u;
  const uint16_t* symbol = code.symbols.data();
  for (int length = 1; length <= kMaxDeflateCode; ++length) {
    if (length <= look_bits) {
      // For shorter codes, the bits after the code take any value.
      if (length > 1) std::memcpy(entries + filled, entries, filled * sizeof(*entries));
      filled = 1u << length;
    }
    for (int i = code.counts[static_cast<size_t>(length)]; i > 0; --i) {
      const DeflateEntry entry = of_symbols[*symbol++];
      if (length <= look_bits) {
        entries[reversed] = WithLength(entry, length);
      } else {
        const uint32_t prefix = reversed & (look_size - 1);
        if (prefix != table_prefix) {
          table_prefix = prefix;
          table = next_table;
          next_table += 1u << further_bits;
          entries[prefix] = kDeflateOther | kDeflateTable | table << 8 | static_cast<uint32_t>(look_bits);
        }
        const uint32_t step = 1u << (length - look_bits);
        for (uint32_t at = reversed >> look_bits; at < 1u << further_bits; at += step) {
          entries[table + at] = WithLength(entry, length - look_bits);
        }
      }
      // Increments the code from its last bit, which is the highest here.
      uint32_t bit = 1u << (length - 1);
      while ((reversed & bit) != 0) {
        reversed &= ~bit;
        bit >>= 1;
      }
      reversed |= bit;
    }
  }
}

}  // namespace

bool LiteralCode::Build(const uint8_t* lengths, size_t count) {
  if (lengths[256] == 0) return false;
  const SortedCode code(lengths, count);
  // zlib accepts a single code of one bit, that of an empty block. No encoder writes one, so it is rejected here.
  if (code.left != 0) return false;
  FillEntries(code, kLiteralEntries.data(), kLookBits, entries_.data());
  if (code.shortest * 2 <= kLookBits) FillPairs();
  return true;
}

// Combines two literals that one lookup holds into one entry.
void LiteralCode::FillPairs() {
  // Runs from the last entry, so that the second literal is not yet combined: its entry precedes that of the first
  // literal or is the same.
  for (size_t at = size_t{1} << kLookBits; at-- > 0;) {
    const DeflateEntry first = entries_[at];
    const uint32_t bits = first & 63;
    if ((first & kDeflateLiteral) == 0) continue;
    const DeflateEntry second = entries_[at >> bits];
    if ((second & kDeflateLiteral) == 0 || bits + (second & 63) > kLookBits) continue;
    entries_[at] = kDeflateLiteral | 2u << 24 | (second & 0xFF00) << 8 | (first & 0xFF00) | (bits + (second & 63));
  }
}

bool DistanceCode::Build(const uint8_t* lengths, size_t count) {
  const SortedCode code(lengths, count);
  if (code.left == 0) {
    FillEntries(code, kDistanceEntries.data(), kLookBits, entries_.data());
    return true;
  }
  if (code.used > 1 || (code.used == 1 && code.counts[1] == 0)) return false;
  const DeflateEntry zero = code.used == 0 ? kDeflateOther : WithLength(kDistanceEntries[code.symbols[0]], 1);
  for (size_t i = 0; i < size_t{1} << kLookBits; ++i) entries_[i] = i % 2 == 0 ? zero : kDeflateOther;
  return true;
}

bool LengthsCode::Build(const uint8_t* lengths) {
  const SortedCode code(lengths, kSymbols);
  if (code.left != 0) return false;
  // No code is longer than a lookup.
  FillEntries(code, kLengthsEntries.data(), kLookBits, entries_.data());
  return true;
}

}  // namespace penstock::image
