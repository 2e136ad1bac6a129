#include "pipeline/image/png/inflater.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "pipeline/image/png/exact_buffer.h"

namespace penstock::image {
namespace {

constexpr size_t kWindow = size_t{1} << 15;  // maximum distance of a match
constexpr size_t kPiece = size_t{1} << 15;   // bytes produced at once, if the stream has as many
// Bytes that Decode may write beyond its target: six literals, a match, and the sixteenth byte of its last copy.
constexpr size_t kSlack = 288;
constexpr size_t kInput = size_t{1} << 13, kZeros = 32, kGoBack = 8;

uint64_t Load64(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Copies `length` bytes from `distance` before `out`. Writes up to 15 more.
inline void CopyMatch(uint8_t* out, size_t distance, size_t length) {
  const uint8_t* from = out - distance;
  uint8_t* const end = out + length;
  if (distance >= 16) {
    do {
      std::memcpy(out, from, 16);
      out += 16;
      from += 16;
    } while (out < end);
  } else if (distance >= 8) {
    do {
      std::memcpy(out, from, 8);
      out += 8;
      from += 8;
    } while (out < end);
  } else if (distance == 1) {
    std::memset(out, *from, length);
  } else {
    // Only the first `distance` of each eight bytes count.
    do {
      std::memcpy(out, from, 8);
      out += distance;
      from += distance;
    } while (out < end);
  }
}

// Returns the length or distance of an entry, including its extra bits.
inline size_t NumberOf(DeflateEntry entry, uint64_t bits) {
  const uint64_t mask = (uint64_t{1} << (entry & 63)) - 1;
  return (entry >> 16) + static_cast<size_t>((bits & mask) >> (entry >> 8 & 15));
}

// RFC 1951, 3.2.6. Built once, because a malicious stream can have millions of empty blocks with fixed codes.
struct FixedCodes {
  LiteralCode literals;
  DistanceCode distances;

  FixedCodes() {
    std::array<uint8_t, kLiteralSymbols> lengths;
    std::fill(lengths.begin(), lengths.begin() + 144, 8);
    std::fill(lengths.begin() + 144, lengths.begin() + 256, 9);
    std::fill(lengths.begin() + 256, lengths.begin() + 280, 7);
    std::fill(lengths.begin() + 280, lengths.end(), 8);
    std::array<uint8_t, kDistanceSymbols> of_distances;
    of_distances.fill(5);
    PS_CHECK(literals.Build(lengths.data(), lengths.size()));
    PS_CHECK(distances.Build(of_distances.data(), of_distances.size()));
  }

  static const FixedCodes& Get() {
    static const auto* const codes = new FixedCodes;
    return *codes;
  }
};

}  // namespace

size_t Inflater::Bytes(size_t largest) {
  return sizeof(Inflater) + kWindow + kPiece + largest + kSlack + kGoBack + kInput + kZeros;
}

void Inflater::Start(InflaterInput* input, size_t largest, size_t total, bool checked) {
  static_assert(std::endian::native == std::endian::little);
  input_ = input;
  piece_ = {};
  input_buffer_.resize(kGoBack + kInput + kZeros);
  next_ = end_ = input_buffer_.data() + kGoBack;
  real_end_ = nullptr;
  bits_ = 0;
  count_ = 0;
  const size_t room = kWindow + kPiece + largest + kSlack;
  if (output_.size() < room) ResizeExactly(&output_, room);
  out_ = output_.data();
  taken_ = out_;
  left_ = total;
  adler_ = 1;
  checked_ = checked;
  block_ = Block::kNone;
  final_ = false;
  if (!ReadStreamHeader()) {
    left_ = 0;
    checked_ = false;
  }
}

// RFC 1950, 2.2: DEFLATE with a window of at most 32 KiB, no dictionary.
bool Inflater::ReadStreamHeader() {
  if (!Refill()) return false;
  const uint32_t method = ReadBits(8), flags = ReadBits(8);
  return (method & 15) == 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 == 0 && (flags & 32) == 0;
}

const uint8_t* Inflater::Take(size_t count) {
  if (static_cast<size_t>(out_ - taken_) < count && !Produce(count)) return nullptr;
  const uint8_t* const taken = taken_;
  taken_ += count;
  return taken;
}

bool Inflater::Finish() {
  if (!checked_ || left_ != 0 || taken_ != out_) return false;
  MakeRoom(1);
  const uint8_t* const end = out_;
  for (int blocks = 0; block_ != Block::kNone || !final_; ++blocks) {
    if (blocks == kMaxTrailingBlocks) return true;
    if (block_ == Block::kNone && !ReadBlockHeader()) return false;
    if (!ReadBlock(end + 1) || out_ != end) return false;
  }
  if (!Refill()) return false;
  ReadBits(static_cast<int>(count_ % 8));
  if (!Refill()) return false;
  uint32_t adler = 0;
  for (int i = 0; i < 4; ++i) adler = adler << 8 | ReadBits(8);
  return WithinInput() && adler == adler_;
}

// Makes room for at least `count` bytes. Drops bytes that no match can refer to.
void Inflater::MakeRoom(size_t count) {
  if (static_cast<size_t>(output_.data() + output_.size() - out_) >= kSlack + std::max(kPiece, count)) return;
  const uint8_t* const window = out_ - std::min(kWindow, static_cast<size_t>(out_ - output_.data()));
  const uint8_t* const keep = std::min(taken_, window);
  const size_t dropped = static_cast<size_t>(keep - output_.data());
  std::memmove(output_.data(), keep, static_cast<size_t>(out_ - keep));
  out_ -= dropped;
  taken_ -= dropped;
}

// Decodes until `count` bytes are ready.
bool Inflater::Produce(size_t count) {
  const size_t missing = count - static_cast<size_t>(out_ - taken_);
  if (missing > left_) return false;
  MakeRoom(missing);
  const uint8_t* const begin = out_;
  const size_t room = static_cast<size_t>(output_.data() + output_.size() - out_) - kSlack;
  const uint8_t* const target = out_ + std::min(left_, room);
  while (out_ < target) {
    if (block_ == Block::kNone && (final_ || !ReadBlockHeader())) return false;
    if (!ReadBlock(target)) return false;
  }
  if (!WithinInput()) return false;
  const size_t made = static_cast<size_t>(out_ - begin);
  if (checked_) adler_ = isal_adler32(adler_, begin, made);
  if (made > left_) checked_ = false;  // more bytes than expected
  left_ -= std::min(left_, made);
  return true;
}

bool Inflater::ReadBlock(const uint8_t* target) { return block_ == Block::kStored ? Store(target) : Decode(target); }

// RFC 1951, 3.2.3.
bool Inflater::ReadBlockHeader() {
  if (!Refill()) return false;
  final_ = ReadBits(1) != 0;
  switch (ReadBits(2)) {
    case 0: {
      ReadBits(static_cast<int>(count_ % 8));
      if (!Refill()) return false;
      const uint32_t length = ReadBits(16);
      if ((ReadBits(16) ^ length) != 0xFFFF) return false;
      stored_left_ = length;
      // Moves back over whole bytes that were read ahead.
      next_ -= count_ / 8;
      bits_ = 0;
      count_ = 0;
      block_ = Block::kStored;
      return true;
    }
    case 1:
      block_ = Block::kCoded;
      literals_ = &FixedCodes::Get().literals;
      distances_ = &FixedCodes::Get().distances;
      return true;
    case 2:
      block_ = Block::kCoded;
      return ReadCodes();
    default:
      return false;
  }
}

// RFC 1951, 3.2.7.
bool Inflater::ReadCodes() {
  constexpr std::array<uint8_t, LengthsCode::kSymbols> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                 11, 4,  12, 3, 13, 2, 14, 1, 15};
  const size_t literals = 257 + ReadBits(5), distances = 1 + ReadBits(5), count = 4 + ReadBits(4);
  if (literals > 286 || distances > 30) return false;
  std::array<uint8_t, LengthsCode::kSymbols> of_lengths{};
  for (size_t i = 0; i < count; ++i) {
    if (i % 16 == 0 && !Refill()) return false;
    of_lengths[kOrder[i]] = static_cast<uint8_t>(ReadBits(3));
  }
  if (!lengths_.Build(of_lengths.data())) return false;
  std::array<uint8_t, 286 + 30> lengths;
  for (size_t i = 0; i < literals + distances;) {
    if (!Refill()) return false;
    const DeflateEntry entry = lengths_.Look(bits_);
    ReadBits(static_cast<int>(entry & 63));
    const uint32_t symbol = entry >> 8 & 0xFF;
    if (symbol < 16) {
      lengths[i++] = static_cast<uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const uint8_t repeated = symbol == 16 ? lengths[i - 1] : 0;
    const size_t times = symbol == 16 ? 3 + ReadBits(2) : symbol == 17 ? 3 + ReadBits(3) : 11 + ReadBits(7);
    if (times > literals + distances - i) return false;
    std::fill_n(lengths.begin() + static_cast<ptrdiff_t>(i), times, repeated);
    i += times;
  }
  literals_ = &own_literals_;
  distances_ = &own_distances_;
  return own_literals_.Build(lengths.data(), literals) && own_distances_.Build(lengths.data() + literals, distances);
}

bool Inflater::Store(const uint8_t* target) {
  while (stored_left_ > 0 && out_ < target) {
    if (next_ == end_ && !LoadInput()) return false;
    const size_t part = std::min({stored_left_, static_cast<size_t>(target - out_), static_cast<size_t>(end_ - next_)});
    std::memcpy(out_, next_, part);
    out_ += part;
    next_ += part;
    stored_left_ -= part;
  }
  if (stored_left_ == 0) block_ = Block::kNone;
  return true;
}

// Decodes up to the block's end or to `target`, and up to kSlack bytes beyond it.
bool Inflater::Decode(const uint8_t* target) {
  const uint8_t* const begin = output_.data();
  const LiteralCode& literals = *literals_;
  const DistanceCode& distances = *distances_;
  // Copies that stay in registers.
  uint8_t* out = out_;
  const uint8_t *next = next_, *end = end_;
  uint64_t bits = bits_;
  uint32_t count = count_;
  const auto refill = [&]() __attribute__((always_inline)) {
    bits |= Load64(next) << count;
    next += (63 - count) >> 3;
    count |= 56;
  };
  const auto skip = [&](DeflateEntry entry) __attribute__((always_inline)) {
    bits >>= entry & 63;
    count -= entry & 63;
  };
  const auto put = [&](DeflateEntry entry) __attribute__((always_inline)) {
    const uint16_t bytes = static_cast<uint16_t>(entry >> 8);
    std::memcpy(out, &bytes, sizeof(bytes));
    out += LiteralsOf(entry);
    skip(entry);
  };
  // Loads input for two refills of at most eight bytes.
  const auto load = [&]() __attribute__((always_inline)) {
    if (end - next >= 16) return true;
    next_ = next;
    const bool more = LoadInput();
    next = next_;
    end = end_;
    return more;
  };
  bool sound = false;
  while (load()) {
    refill();
    DeflateEntry entry = literals.Look(bits);
    // Three first lookups and the longest length with its extra bits take 56 bits.
    if ((entry & kDeflateLiteral) != 0) {
      put(entry);
      entry = literals.Look(bits);
      if ((entry & kDeflateLiteral) != 0) {
        put(entry);
        entry = literals.Look(bits);
        if ((entry & kDeflateLiteral) != 0) {
          put(entry);
          if (out < target) continue;
          sound = true;
          break;
        }
      }
    }
    if ((entry & kDeflateOther) != 0) {
      if ((entry & kDeflateTable) != 0) {
        skip(entry);
        entry = literals.LookFurther(entry, bits);
      }
      if ((entry & kDeflateLiteral) != 0) {
        put(entry);
        if (out < target) continue;
        sound = true;
        break;
      }
      if ((entry & kDeflateOther) != 0) {
        sound = (entry & kDeflateBlockEnd) != 0;
        skip(entry);
        block_ = Block::kNone;
        break;
      }
    }
    const size_t length = NumberOf(entry, bits);
    skip(entry);
    refill();
    entry = distances.Look(bits);
    if ((entry & kDeflateOther) != 0) {
      if ((entry & kDeflateTable) == 0) break;
      skip(entry);
      entry = distances.LookFurther(entry, bits);
      if ((entry & kDeflateOther) != 0) break;
    }
    const size_t distance = NumberOf(entry, bits);
    skip(entry);
    if (distance > static_cast<size_t>(out - begin)) break;
    CopyMatch(out, distance, length);
    out += length;
    if (out < target) continue;
    sound = true;
    break;
  }
  out_ = out;
  next_ = next;
  bits_ = bits;
  count_ = count;
  return sound;
}

// Loads more input after the unread bytes. Returns false at the end of the input.
bool Inflater::LoadInput() {
  if (real_end_ != nullptr) return false;
  // Keeps the bytes just read, because ReadBlockHeader may move back over some of them.
  const size_t left = static_cast<size_t>(end_ - next_);
  uint8_t* const begin = input_buffer_.data() + kGoBack;
  std::memmove(begin - kGoBack, next_ - kGoBack, left + kGoBack);
  next_ = begin;
  uint8_t* to = begin + left;
  for (size_t room = kInput - left; room > 0;) {
    if (piece_.empty() && (piece_ = input_->Next()).empty()) {
      real_end_ = to;
      std::memset(to, 0, kZeros);
      to += kZeros;
      break;
    }
    const size_t part = std::min(room, piece_.size());
    std::memcpy(to, piece_.data(), part);
    piece_.remove_prefix(part);
    to += part;
    room -= part;
  }
  end_ = to;
  return true;
}

// Fills bits_ to at least 56 bits.
bool Inflater::Refill() {
  if (end_ - next_ < 8 && !LoadInput()) return false;
  if (end_ - next_ < 8) return false;
  bits_ |= Load64(next_) << count_;
  next_ += (63 - count_) >> 3;
  count_ |= 56;
  return true;
}

uint32_t Inflater::ReadBits(int count) {
  const uint32_t value = static_cast<uint32_t>(bits_ & ((uint64_t{1} << count) - 1));
  bits_ >>= count;
  count_ -= static_cast<uint32_t>(count);
  return value;
}

bool Inflater::WithinInput() const { return real_end_ == nullptr || next_ - count_ / 8 <= real_end_; }

}  // namespace penstock::image
