#include "pipeline/image/mcu_decoder.h"

namespace penstock {
namespace {

constexpr int kFirstRestart = 0xD0;

// Natural place of coefficient k of the zigzag (ITU-T T.81, figure A.6).
constexpr std::array<uint8_t, kBlockSize> kNatural = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// A code and the longest value have 31 bits.
constexpr int kLongest = 32;

// The difference of a block's DC coefficient to that of the block before.
inline bool ReadDc(const HuffmanCode& code, BitReader* reader, int* difference) {
  if (reader->count < kLongest) reader->Refill();
  const HuffmanCode::Look look = code.look(reader->bits);
  if (look.bits != 0) {
    reader->Skip(look.bits);
    *difference = look.value;
    return true;
  }
  const HuffmanCode::Symbol symbol = code.Find(reader->bits);
  if (symbol.length == 0) return false;
  reader->Skip(symbol.length);
  *difference = 0;
  if (symbol.size == 0) return true;
  *difference = HuffmanCode::Extend(reader->Peek(symbol.size), symbol.size);
  reader->Skip(symbol.size);
  return true;
}

// False: no such code, or more than 63 coefficients.
inline bool ReadAc(const HuffmanCode& code, BitReader* reader, int16_t* block) {
  int k = 1;
  while (k < kBlockSize) {
    reader->Refill();  // cheaper than to ask whether it is due
    const HuffmanCode::Look look = code.look(reader->bits);
    int value = look.value;
    if (look.bits != 0) {
      reader->Skip(look.bits);
      k += look.run;
    } else if (const HuffmanCode::Step step = code.step(reader->bits); step.bits != 0) {
      const int size = step.bits - step.length;
      reader->Skip(step.length);
      value = HuffmanCode::Extend(reader->Peek(size), size);
      reader->Skip(size);
      k += step.run;
    } else {
      const HuffmanCode::Symbol symbol = code.Find(reader->bits);
      if (symbol.length == 0) return false;
      reader->Skip(symbol.length);
      k += symbol.run;
      if (symbol.size != 0) {
        value = HuffmanCode::Extend(reader->Peek(symbol.size), symbol.size);
        reader->Skip(symbol.size);
      }
    }
    if (k >= kBlockSize) return k >= HuffmanCode::kEndOfBlock;
    block[kNatural[static_cast<size_t>(k)]] = static_cast<int16_t>(value);
    ++k;
  }
  return true;
}

// As ReadAc, for a block that nobody wants.
inline bool SkipAc(const HuffmanCode& code, BitReader* reader) {
  int k = 1;
  while (k < kBlockSize) {
    reader->Refill();
    const HuffmanCode::Step step = code.step(reader->bits);
    if (step.bits != 0) {
      reader->Skip(step.bits);
      k += step.run + 1;
    } else {
      const HuffmanCode::Symbol symbol = code.Find(reader->bits);
      if (symbol.length == 0) return false;
      reader->Skip(symbol.length);
      if (symbol.size != 0) reader->Skip(symbol.size);
      k += symbol.run + 1;
    }
  }
  return k == kBlockSize || k > HuffmanCode::kEndOfBlock;
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
    if (!bits_.AtEnd(reader_) || bits_.marker() != kFirstRestart + tile_ % 8) return false;
    bits_.StartNext(&reader_);
    ++tile_;
    in_tile_ = 0;
    dc_ = {};
  }
  return blocks == nullptr ? Decode<false>(nullptr) : Decode<true>(blocks);
}

template <bool kWanted>
bool McuDecoder::Decode(Block* const* blocks) {
  BitReader reader = reader_;  // in registers
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

}  // namespace penstock
