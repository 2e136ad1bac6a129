#include "pipeline/image/headers/vp8l_walk.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// RFC 9649: 3.5 bit stream order, 4 transforms, 5 image data, 6 entropy codes.
namespace penstock::image {
namespace {

constexpr int kLiterals = 256, kLengths = 24, kDistances = 40, kMaxCodeLength = 15, kMaxCacheBits = 11;
// Maximum pixels of the map of groups: six times the largest map that any version of libwebp's encoder writes.
constexpr int kMaxMapPixels = 1 << 16;

// Entries of libwebp's lookup tables for one group, for each number of color cache bits (kTableSize in vp8l_dec.c).
constexpr size_t kTableEntries[kMaxCacheBits + 1] = {2954, 2956, 2958, 2962, 2970, 2986,
                                                     3018, 3082, 3212, 3468, 3980, 5004};
constexpr size_t kEntryBytes = 4;
constexpr size_t kGroupBytes = 640;  // libwebp's HTreeGroup, with its 64 packed entries, is 568

absl::Status Broken(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("the lossless WebP is cut off or broken in its ", what));
}

// Reads bits, the least significant first. Beyond the end, bits are 0 and ok() is false.
class Bits {
 public:
  explicit Bits(std::string_view bytes) : bytes_(bytes) {}

  uint32_t Read(int count) {
    while (held_ < count) {
      if (at_ == bytes_.size()) {
        ok_ = false;
        held_ += 32;  // zeros
        continue;
      }
      window_ |= uint64_t{static_cast<uint8_t>(bytes_[at_++])} << held_;
      held_ += 8;
    }
    const uint32_t value = static_cast<uint32_t>(window_ & ((uint64_t{1} << count) - 1));
    window_ >>= count;
    held_ -= count;
    return value;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint64_t window_ = 0;
  int held_ = 0;
  bool ok_ = true;
};

// A canonical prefix code, read bit by bit.
template <int kMaxSymbols>
class PrefixCode {
 public:
  // Builds the code from the lengths of the symbols' codes. Returns false if they do not form a complete code.
  bool Build(const uint8_t* lengths, int size) {
    std::fill(std::begin(count_), std::end(count_), uint16_t{0});
    for (int i = 0; i < size; ++i) ++count_[lengths[i]];
    const int used = size - count_[0];
    if (used == 0) return false;
    int offsets[kMaxCodeLength + 2] = {};
    for (int length = 1; length <= kMaxCodeLength; ++length) offsets[length + 1] = offsets[length] + count_[length];
    for (int i = 0; i < size; ++i) {
      if (lengths[i] != 0) symbols_[offsets[lengths[i]]++] = static_cast<uint16_t>(i);
    }
    single_ = used == 1;
    if (single_) return true;
    int left = 1;
    for (int length = 1; length <= kMaxCodeLength; ++length) {
      left = 2 * left - count_[length];
      if (left < 0) return false;
    }
    return left == 0;
  }
  bool single() const { return single_; }  // a single symbol, which takes no bits

  int Read(Bits* bits) const {
    if (single_) return symbols_[0];
    int code = 0, first = 0, index = 0;
    for (int length = 1; length <= kMaxCodeLength; ++length) {
      code |= static_cast<int>(bits->Read(1));
      if (code - first < count_[length]) return symbols_[index + code - first];
      index += count_[length];
      first = (first + count_[length]) << 1;
      code <<= 1;
    }
    return 0;  // unreachable: the code is complete
  }

 private:
  uint16_t count_[kMaxCodeLength + 1] = {};
  uint16_t symbols_[kMaxSymbols] = {};
  bool single_ = false;
};

// 6.2.1. Like libwebp, it ignores symbols of a simple code that are outside the alphabet.
bool ReadCodeLengths(Bits* bits, int size, uint8_t* lengths) {
  std::fill(lengths, lengths + size, uint8_t{0});
  if (bits->Read(1) != 0) {
    const bool two = bits->Read(1) != 0;
    const int first = static_cast<int>(bits->Read(bits->Read(1) != 0 ? 8 : 1));
    if (first < size) lengths[first] = 1;
    if (two) {
      const int second = static_cast<int>(bits->Read(8));
      if (second < size) lengths[second] = 1;
    }
    return bits->ok();
  }
  static constexpr uint8_t kOrder[19] = {17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  uint8_t of_lengths[19] = {};
  const int given = 4 + static_cast<int>(bits->Read(4));
  for (int i = 0; i < given; ++i) of_lengths[kOrder[i]] = static_cast<uint8_t>(bits->Read(3));
  PrefixCode<19> code;
  if (!code.Build(of_lengths, 19)) return false;
  int most = size;
  if (bits->Read(1) != 0) {
    const int count_bits = 2 + 2 * static_cast<int>(bits->Read(3));
    most = 2 + static_cast<int>(bits->Read(count_bits));
    if (most > size) return false;
  }
  uint8_t previous = 8;
  for (int symbol = 0; symbol < size && most > 0; --most) {
    const int length = code.Read(bits);
    if (length < 16) {
      lengths[symbol++] = static_cast<uint8_t>(length);
      if (length != 0) previous = static_cast<uint8_t>(length);
      continue;
    }
    const int repeat = length == 16   ? 3 + static_cast<int>(bits->Read(2))
                       : length == 17 ? 3 + static_cast<int>(bits->Read(3))
                                      : 11 + static_cast<int>(bits->Read(7));
    if (repeat > size - symbol) return false;
    std::fill(lengths + symbol, lengths + symbol + repeat, length == 16 ? previous : uint8_t{0});
    symbol += repeat;
  }
  return bits->ok();
}

struct Group {
  PrefixCode<kLiterals + kLengths + (1 << kMaxCacheBits)> green;
  PrefixCode<kLiterals> red, blue, alpha;
  PrefixCode<kDistances> distance;

  bool Read(Bits* bits, int cache_bits) {
    uint8_t lengths[kLiterals + kLengths + (1 << kMaxCacheBits)];
    const int greens = kLiterals + kLengths + (cache_bits > 0 ? 1 << cache_bits : 0);
    return ReadCodeLengths(bits, greens, lengths) && green.Build(lengths, greens) &&
           ReadCodeLengths(bits, kLiterals, lengths) && red.Build(lengths, kLiterals) &&
           ReadCodeLengths(bits, kLiterals, lengths) && blue.Build(lengths, kLiterals) &&
           ReadCodeLengths(bits, kLiterals, lengths) && alpha.Build(lengths, kLiterals) &&
           ReadCodeLengths(bits, kDistances, lengths) && distance.Build(lengths, kDistances);
  }
};

// 5.2.2: reads the value of a length or distance prefix.
int64_t ReadPrefixed(Bits* bits, int symbol) {
  if (symbol < 4) return symbol + 1;
  const int extra = (symbol - 2) >> 1;
  return (int64_t{2 + (symbol & 1)} << extra) + bits->Read(extra) + 1;
}

int64_t Distance(int64_t code, int width) {
  static constexpr int8_t kNear[120][2] = {
      {0, 1},  {1, 0},  {1, 1},  {-1, 1}, {0, 2},  {2, 0},  {1, 2},  {-1, 2}, {2, 1},  {-2, 1}, {2, 2}, {-2, 2},
      {0, 3},  {3, 0},  {1, 3},  {-1, 3}, {3, 1},  {-3, 1}, {2, 3},  {-2, 3}, {3, 2},  {-3, 2}, {0, 4}, {4, 0},
      {1, 4},  {-1, 4}, {4, 1},  {-4, 1}, {3, 3},  {-3, 3}, {2, 4},  {-2, 4}, {4, 2},  {-4, 2}, {0, 5}, {3, 4},
      {-3, 4}, {4, 3},  {-4, 3}, {5, 0},  {1, 5},  {-1, 5}, {5, 1},  {-5, 1}, {2, 5},  {-2, 5}, {5, 2}, {-5, 2},
      {4, 4},  {-4, 4}, {3, 5},  {-3, 5}, {5, 3},  {-5, 3}, {0, 6},  {6, 0},  {1, 6},  {-1, 6}, {6, 1}, {-6, 1},
      {2, 6},  {-2, 6}, {6, 2},  {-6, 2}, {4, 5},  {-4, 5}, {5, 4},  {-5, 4}, {3, 6},  {-3, 6}, {6, 3}, {-6, 3},
      {0, 7},  {7, 0},  {1, 7},  {-1, 7}, {5, 5},  {-5, 5}, {7, 1},  {-7, 1}, {4, 6},  {-4, 6}, {6, 4}, {-6, 4},
      {2, 7},  {-2, 7}, {7, 2},  {-7, 2}, {3, 7},  {-3, 7}, {7, 3},  {-7, 3}, {5, 6},  {-5, 6}, {6, 5}, {-6, 5},
      {8, 0},  {4, 7},  {-4, 7}, {7, 4},  {-7, 4}, {8, 1},  {8, 2},  {6, 6},  {-6, 6}, {8, 3},  {5, 7}, {-5, 7},
      {7, 5},  {-7, 5}, {8, 4},  {6, 7},  {-6, 7}, {7, 6},  {-7, 6}, {8, 5},  {7, 7},  {-7, 7}, {8, 6}, {8, 7}};
  if (code > 120) return code - 120;
  const auto& [x, y] = kNear[code - 1];
  return std::max<int64_t>(1, x + int64_t{y} * width);
}

// 5.2.3: the color cache of an image whose pixels are decoded.
class ColorCache {
 public:
  explicit ColorCache(int bits) : bits_(bits) {}
  uint32_t Look(int key) const { return colors_[key]; }
  void Add(uint32_t argb) {
    if (bits_ > 0) colors_[argb * 0x1E35A7BDu >> (32 - bits_)] = argb;
  }

 private:
  const int bits_;
  uint32_t colors_[1 << kMaxCacheBits] = {};
};

// 5.2: reads an image with one group, such as a transform or the map of groups. Writes its pixels to `argb` unless that
// is null.
bool ReadImage(Bits* bits, int width, int height, uint32_t* argb) {
  int cache_bits = 0;
  if (bits->Read(1) != 0) {
    cache_bits = static_cast<int>(bits->Read(4));
    if (cache_bits < 1 || cache_bits > kMaxCacheBits) return false;
  }
  Group group;
  if (!group.Read(bits, cache_bits)) return false;
  const int64_t pixels = int64_t{width} * height;
  // Pixels that take no bits are all equal.
  const bool free = group.green.single() && group.red.single() && group.blue.single() && group.alpha.single();
  if (free && argb == nullptr) {
    const int green = group.green.Read(bits);
    return green < kLiterals || green >= kLiterals + kLengths;
  }
  ColorCache cache(cache_bits);
  for (int64_t at = 0; at < pixels;) {
    const int green = group.green.Read(bits);
    int64_t count = 1, back = 0;
    uint32_t color = 0;
    if (green < kLiterals) {
      const uint32_t red = static_cast<uint32_t>(group.red.Read(bits));
      const uint32_t blue = static_cast<uint32_t>(group.blue.Read(bits));
      const uint32_t alpha = static_cast<uint32_t>(group.alpha.Read(bits));
      color = alpha << 24 | red << 16 | static_cast<uint32_t>(green) << 8 | blue;
    } else if (green < kLiterals + kLengths) {
      count = ReadPrefixed(bits, green - kLiterals);
      back = Distance(ReadPrefixed(bits, group.distance.Read(bits)), width);
      if (back > at || count > pixels - at) return false;
    } else {
      color = cache.Look(green - kLiterals - kLengths);
    }
    if (!bits->ok()) return false;
    if (argb == nullptr) {
      at += count;
      continue;
    }
    for (const int64_t end = at + count; at < end; ++at) {
      argb[at] = back > 0 ? argb[at - back] : color;
      cache.Add(argb[at]);
    }
  }
  return true;
}

int Blocks(int size, int bits) { return (size + (1 << bits) - 1) >> bits; }

}  // namespace

absl::StatusOr<size_t> PrefixCodeBytes(std::string_view stream) {
  Bits bits(stream);
  if (bits.Read(8) != 0x2F) return Broken("header");
  int width = static_cast<int>(bits.Read(14)) + 1;
  const int height = static_cast<int>(bits.Read(14)) + 1;
  bits.Read(1);
  if (bits.Read(3) != 0 || !bits.ok()) return Broken("header");

  enum { kPredictor = 0, kCrossColor = 1, kSubtractGreen = 2, kColorIndexing = 3 };
  bool seen[4] = {};
  while (bits.Read(1) != 0) {
    const uint32_t type = bits.Read(2);
    if (seen[type]) return Broken("transforms");
    seen[type] = true;
    bool ok = true;
    if (type == kPredictor || type == kCrossColor) {
      const int block = static_cast<int>(bits.Read(3)) + 2;
      ok = ReadImage(&bits, Blocks(width, block), Blocks(height, block), nullptr);
    } else if (type == kColorIndexing) {
      const int colors = static_cast<int>(bits.Read(8)) + 1;
      ok = ReadImage(&bits, colors, 1, nullptr);
      width = Blocks(width, colors > 16 ? 0 : colors > 4 ? 1 : colors > 2 ? 2 : 3);
    }
    if (!ok || !bits.ok()) return Broken("transforms");
  }
  int cache_bits = 0;
  if (bits.Read(1) != 0) {
    cache_bits = static_cast<int>(bits.Read(4));
    if (cache_bits < 1 || cache_bits > kMaxCacheBits) return Broken("color cache");
  }
  int groups = 1;
  if (bits.Read(1) != 0) {
    const int block = static_cast<int>(bits.Read(3)) + 2;
    const int columns = Blocks(width, block), rows = Blocks(height, block);
    const int64_t pixels = int64_t{columns} * rows;
    if (pixels > kMaxMapPixels) {
      return absl::InvalidArgumentError(absl::StrCat("the lossless WebP has a map of ", pixels,
                                                     " groups of prefix codes, over the limit of ", kMaxMapPixels,
                                                     ", which no libwebp writes"));
    }
    std::vector<uint32_t> map(static_cast<size_t>(pixels));
    if (!ReadImage(&bits, columns, rows, map.data())) return Broken("map of prefix codes");
    for (const uint32_t argb : map) groups = std::max(groups, static_cast<int>(argb >> 8 & 0xFFFF) + 1);
    if (groups > kMaxPrefixCodeGroups) {
      return absl::InvalidArgumentError(absl::StrCat("the lossless WebP has ", groups,
                                                     " groups of prefix codes, over the limit of ",
                                                     kMaxPrefixCodeGroups, ", which no libwebp writes"));
    }
  }
  if (!bits.ok()) return Broken("header");
  return static_cast<size_t>(groups) * (kTableEntries[cache_bits] * kEntryBytes + kGroupBytes);
}

}  // namespace penstock::image
