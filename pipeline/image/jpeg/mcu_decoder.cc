#include "pipeline/image/jpeg/mcu_decoder.h"

#include "pipeline/image/jpeg/jpeg_markers.h"

namespace penstock::image {
namespace {

// Position in natural order of coefficient k of the zigzag (ITU-T T.81, figure A.6).
constexpr std::array<uint8_t, kBlockSize> kNatural = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                                      12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                                      35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                                      58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// Reads one symbol that the lookup does not hold: adds its run to `k` and sets `value`. Returns false if there is no
// such code.
inline bool FindSymbol(const HuffmanCode& code, BitReader* reader, int* k, int* value) {
  const HuffmanCode::Symbol symbol = code.Find(reader->bits);
  if (symbol.length == 0) return false;
  reader->Skip(symbol.length);
  *k += symbol.run;
  *value = 0;
  if (symbol.size == 0) return true;
  *value = HuffmanCode::Extend(reader->Peek(symbol.size), symbol.size);
  reader->Skip(symbol.size);
  return true;
}

// Reads the difference between a block's DC coefficient and that of the previous block.
inline bool ReadDc(const HuffmanCode& code, BitReader* reader, int* difference) {
  reader->Refill();
  const HuffmanCode::Pair& look = code.pair(reader->bits);
  if (look.bits != 0) {
    *difference = look.FirstValue(reader->bits);
    reader->Skip(look.bits);
    return true;
  }
  int run = 0;
  return FindSymbol(code, reader, &run, difference);
}

// The result of a lookup.
enum class Looked { kMore, kBlockEnd, kNothing, kTooMany };

// Reads one or two coefficients, if a lookup finds them.
inline Looked ReadPair(const HuffmanCode& code, BitReader* reader, int* at, int16_t* block) {
  constexpr int kLast = kBlockSize - 1;
  const HuffmanCode::Pair& pair = code.pair(reader->bits);
  const int first = *at + pair.first;
  // The last coefficient is followed by the next block, so a pair there may hold a symbol of that block.
  if (pair.bits != 0 && first < kLast) {
    const int16_t value = static_cast<int16_t>(pair.FirstValue(reader->bits));
    reader->Skip(pair.bits);
    const int k = first + pair.second;
    if (k >= kBlockSize) {
      block[kNatural[static_cast<size_t>(first)]] = value;
      return k >= HuffmanCode::kEndOfBlock ? Looked::kBlockEnd : Looked::kTooMany;
    }
    block[kNatural[static_cast<size_t>(k)]] = pair.second_value;
    block[kNatural[static_cast<size_t>(first)]] = value;  // overwrites second_value if there is no second symbol
    *at = k + 1;
    return k == kLast ? Looked::kBlockEnd : Looked::kMore;
  }
  if (pair.bits == 0 || pair.first != HuffmanCode::kEndOfBlock) return Looked::kNothing;
  reader->Skip(pair.bits);
  return Looked::kBlockEnd;
}

// Returns false if there is no such code, or if the block has more than 63 AC coefficients.
inline bool ReadAc(const HuffmanCode& code, BitReader* reader, int16_t* block) {
  int k = 1;
  while (k < kBlockSize) {
    reader->Refill();  // cheaper than checking whether it is needed
    // A pair takes at most 25 of the 56 bits, because its first value may extend beyond the lookup. The longest symbol
    // takes 31.
    Looked looked = ReadPair(code, reader, &k, block);
    if (looked == Looked::kMore) looked = ReadPair(code, reader, &k, block);
    if (looked == Looked::kMore) continue;
    if (looked != Looked::kNothing) return looked == Looked::kBlockEnd;
    int value;
    if (!FindSymbol(code, reader, &k, &value)) return false;
    if (k >= kBlockSize) return k >= HuffmanCode::kEndOfBlock;
    block[kNatural[static_cast<size_t>(k)]] = static_cast<int16_t>(value);
    ++k;
  }
  return true;
}

// Skips as many symbols as a lookup holds, and otherwise works like ReadPair.
inline Looked SkipStride(const HuffmanCode& code, BitReader* reader, int* at) {
  const HuffmanCode::Stride stride = code.stride(reader->bits);
  const int behind = *at + stride.coefficients;
  // Excludes strides whose last symbols belong to the next block.
  const bool ends =
      behind == kBlockSize || (behind >= HuffmanCode::kEndOfBlock && behind < HuffmanCode::kEndOfBlock + kBlockSize);
  if (stride.bits == 0 || (behind > kBlockSize && !ends)) return Looked::kNothing;
  reader->Skip(stride.bits);
  *at = behind;
  return ends ? Looked::kBlockEnd : Looked::kMore;
}

// Like ReadAc, but skips the block.
inline bool SkipAc(const HuffmanCode& code, BitReader* reader) {
  int k = 1;
  while (k < kBlockSize) {
    reader->Refill();
    // A stride takes at most 25 bits, because its first value may extend beyond the lookup. The longest symbol takes
    // 31.
    Looked looked = SkipStride(code, reader, &k);
    if (looked == Looked::kMore) looked = SkipStride(code, reader, &k);
    if (looked == Looked::kMore) continue;
    if (looked == Looked::kBlockEnd) return true;
    const HuffmanCode::Symbol symbol = code.Find(reader->bits);
    if (symbol.length == 0) return false;
    reader->Skip(symbol.length);
    if (symbol.size != 0) reader->Skip(symbol.size);
    k += symbol.run + 1;
  }
  return k == kBlockSize || k >= HuffmanCode::kEndOfBlock;
}

}  // namespace

void McuDecoder::Start(const ScanLayout& layout, std::string_view jpeg, size_t scan_at, const TileTable* table) {
  layout_ = layout;
  jpeg_ = jpeg;
  table_ = table;
  mcu_ = 0;
  in_tile_ = 0;
  dc_ = {};
  if (table != nullptr) {
    walker_.Start(jpeg, table);
    tile_ = -1;
  } else {
    const uint8_t* const data = reinterpret_cast<const uint8_t*>(jpeg.data());
    bits_.Start(data + scan_at, data + jpeg.size(), &reader_);
    tile_ = 0;
  }
}

bool McuDecoder::GoToTile(int64_t tile) {
  const auto at = walker_.GoTo(tile);
  if (!at) return false;
  const uint8_t* const data = reinterpret_cast<const uint8_t*>(jpeg_.data());
  bits_.Start(data + *at, data + jpeg_.size(), &reader_);
  tile_ = tile;
  in_tile_ = 0;
  dc_ = {};
  return true;
}

bool McuDecoder::Next(Block* const* blocks) {
  const int64_t mcu = mcu_++;
  if (table_ != nullptr) {
    if (blocks == nullptr) return true;
    const int64_t tile = mcu / layout_.interval, in_tile = mcu % layout_.interval;
    if (tile != tile_ && !GoToTile(tile)) return false;
    while (in_tile_ < in_tile) {
      if (!Decode<false>(nullptr)) return false;
    }
    if (!Decode<true>(blocks)) return false;
    return in_tile_ < layout_.interval || bits_.AtEnd(reader_);
  }
  if (layout_.interval > 0 && in_tile_ == layout_.interval) {
    if (!bits_.AtEnd(reader_) || bits_.marker() != jpeg_marker::kFirstRestart + tile_ % 8) return false;
    bits_.StartNext(&reader_);
    ++tile_;
    in_tile_ = 0;
    dc_ = {};
  }
  return blocks == nullptr ? Decode<false>(nullptr) : Decode<true>(blocks);
}

template <bool kWanted>
bool McuDecoder::Decode(Block* const* blocks) {
  BitReader reader = reader_;  // a copy stays in registers
  for (size_t b = 0; b < layout_.blocks; ++b) {
    bits_.Prepare(&reader);
    const size_t c = layout_.component[b];
    int difference = 0;
    if (!ReadDc(*layout_.dc[c], &reader, &difference)) return false;
    dc_[c] += difference;
    if (dc_[c] != static_cast<int16_t>(dc_[c])) return false;
    if (kWanted) {
      int16_t* const block = *blocks[b];
      block[0] = static_cast<int16_t>(dc_[c]);
      if (!ReadAc(*layout_.ac[c], &reader, block)) return false;
    } else {
      if (!SkipAc(*layout_.ac[c], &reader)) return false;
    }
  }
  reader_ = reader;
  ++in_tile_;
  return bits_.Sound(reader_);
}

}  // namespace penstock::image
