#include "pipeline/image/jpeg/huffman_code.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/philox.h"

namespace penstock::image {
namespace {

using CodeLengths = std::array<uint8_t, HuffmanCode::kMaxLength + 1>;
using Symbols = std::array<uint8_t, 256>;

// A code whose bits are the first of 64.
struct Entry {
  uint64_t bits;
  int length;
  uint8_t symbol;
};

// T.81, Annex C: codes of one length follow each other, and the next length continues with an appended zero.
std::vector<Entry> AllCodes(const CodeLengths& lengths, const Symbols& symbols) {
  std::vector<Entry> entries;
  uint64_t code = 0;
  for (int length = 1; length <= HuffmanCode::kMaxLength; ++length, code <<= 1) {
    for (int i = 0; i < lengths[static_cast<size_t>(length)]; ++i, ++code) {
      entries.push_back({code << (64 - length), length, symbols[entries.size()]});
    }
  }
  return entries;
}

// As many codes as fit, of random lengths. No code has only ones.
CodeLengths RandomLengths(SampleRandom* random, int most) {
  CodeLengths lengths{};
  int64_t room = (1 << HuffmanCode::kMaxLength) - 1;
  for (int i = 0; i < most; ++i) {
    const int length = 1 + static_cast<int>(random->Below(HuffmanCode::kMaxLength));
    const int64_t takes = int64_t{1} << (HuffmanCode::kMaxLength - length);
    if (takes > room - 1) continue;
    room -= takes;
    ++lengths[static_cast<size_t>(length)];
  }
  return lengths;
}

int64_t WantedValue(uint64_t bits, int length, int size) {
  if (size == 0) return 0;
  const int64_t number = static_cast<int64_t>(bits << length >> (64 - size));
  return number < int64_t{1} << (size - 1) ? number - (int64_t{1} << size) + 1 : number;
}

TEST(HuffmanCode, FindsEverySymbolAndValueOfAnyCode) {
  SampleRandom random(5, 0, 0);
  HuffmanCode code;
  for (int round = 0; round < 60; ++round) {
    const auto kind = round % 2 == 0 ? HuffmanCode::Kind::kAc : HuffmanCode::Kind::kDc;
    const CodeLengths lengths = RandomLengths(&random, 1 + round * 4);
    Symbols symbols{};
    for (uint8_t& symbol : symbols) {
      symbol = static_cast<uint8_t>(random.Below(kind == HuffmanCode::Kind::kAc ? 256 : 16));
    }
    ASSERT_TRUE(code.Build(kind, lengths.data(), symbols.data()));
    for (const Entry& entry : AllCodes(lengths, symbols)) {
      const int size = entry.symbol & 15;
      const bool ends = kind == HuffmanCode::Kind::kAc && size == 0 && entry.symbol != 0xF0;
      const int run = ends ? HuffmanCode::kEndOfBlock : entry.symbol >> 4;
      // Any bits may follow.
      const uint64_t follow = static_cast<uint64_t>(random.Next32()) << 32 | random.Next32();
      const uint64_t bits = entry.bits | follow >> entry.length;
      const HuffmanCode::Symbol found = code.Find(bits);
      EXPECT_EQ(found.length, entry.length);
      EXPECT_EQ(found.size, size);
      EXPECT_EQ(found.run, run);
      const HuffmanCode::Pair& pair = code.pair(bits);
      if (entry.length > HuffmanCode::kLookBits) {
        EXPECT_EQ(pair.bits, 0);
        continue;
      }
      EXPECT_EQ(pair.length, entry.length);
      EXPECT_EQ(pair.size, size);
      EXPECT_EQ(pair.first, run);
      EXPECT_EQ(pair.FirstValue(bits), WantedValue(bits, entry.length, size)) << "inside or outside of the look";
      EXPECT_GE(pair.bits, entry.length + size);
      if (kind == HuffmanCode::Kind::kDc) {
        EXPECT_EQ(pair.second, 0);
      }
      if (pair.second == 0) {
        EXPECT_EQ(pair.bits, entry.length + size);
      }
    }
  }
}

// Compares the pairs and strides of many looks with their single symbols in order.
TEST(HuffmanCode, PairsAndStridesEqualTheirSingleSymbols) {
  SampleRandom random(6, 0, 0);
  HuffmanCode code;
  int pairs = 0, ends = 0, wide = 0, strides = 0;
  for (int round = 0; round < 30; ++round) {
    CodeLengths lengths{};
    lengths[2] = 1;
    lengths[3] = 3;
    lengths[4] = 4;
    lengths[5] = 3;
    Symbols symbols{};
    for (uint8_t& symbol : symbols) {
      symbol = static_cast<uint8_t>(random.Below(3) == 0 ? random.Below(256) : random.Below(4) << 4 | random.Below(4));
    }
    ASSERT_TRUE(code.Build(HuffmanCode::Kind::kAc, lengths.data(), symbols.data()));
    for (int i = 0; i < 2000; ++i) {
      const uint64_t bits = static_cast<uint64_t>(random.Next32()) << 32 | random.Next32();
      const HuffmanCode::Pair& pair = code.pair(bits);
      const HuffmanCode::Symbol one = code.Find(bits);
      ASSERT_EQ(pair.bits == 0, one.length == 0 || one.length > HuffmanCode::kLookBits);
      if (pair.bits != 0) {
        const int first_bits = one.length + one.size;
        EXPECT_EQ(pair.first, one.run);
        EXPECT_EQ(pair.FirstValue(bits), WantedValue(bits, one.length, one.size));
        // A second symbol that is whole within the look.
        const HuffmanCode::Symbol two = code.Find(bits << first_bits);
        const int both = first_bits + two.length + two.size;
        const bool due = one.run != HuffmanCode::kEndOfBlock && two.length != 0 && both <= HuffmanCode::kLookBits;
        ASSERT_EQ(pair.second != 0, due);
        EXPECT_EQ(pair.bits, due ? both : first_bits);
        if (due) {
          EXPECT_EQ(pair.second, two.run == HuffmanCode::kEndOfBlock ? two.run : two.run + 1);
          EXPECT_EQ(pair.second_value, WantedValue(bits << first_bits, two.length, two.size));
          ++pairs;
          ends += pair.second == HuffmanCode::kEndOfBlock;
        }
        wide += first_bits > HuffmanCode::kLookBits;
      }
      const HuffmanCode::Stride stride = code.stride(bits);
      ASSERT_EQ(stride.bits == 0, pair.bits == 0);
      int read = 0, coefficients = 0, symbols_read = 0;
      while (read < stride.bits) {
        const HuffmanCode::Symbol symbol = code.Find(bits << read);
        ASSERT_NE(symbol.length, 0);
        ASSERT_LT(coefficients, HuffmanCode::kEndOfBlock) << "nothing follows a block's end";
        read += symbol.length + symbol.size;
        coefficients += symbol.run == HuffmanCode::kEndOfBlock ? symbol.run : symbol.run + 1;
        ++symbols_read;
      }
      EXPECT_EQ(read, stride.bits);
      if (read > 0) {
        EXPECT_EQ(coefficients, stride.coefficients);
      }
      strides += symbols_read > 2;
    }
  }
  EXPECT_GT(pairs, 1000);
  EXPECT_GT(ends, 50);
  EXPECT_GT(wide, 50);
  EXPECT_GT(strides, 50);
}

TEST(HuffmanCode, ALookReturnsTheLargestSecondValues) {
  CodeLengths lengths{};
  lengths[1] = lengths[2] = 1;
  HuffmanCode code;
  // Code 0 is sixteen zeros. Code 10 is a value of seven bits.
  ASSERT_TRUE(code.Build(HuffmanCode::Kind::kAc, lengths.data(), Symbols{0xF0, 7}.data()));
  EXPECT_EQ(code.pair(uint64_t{0b0'10'1111111} << 54).second_value, 127);
  EXPECT_EQ(code.pair(uint64_t{0b0'10'0000000} << 54).second_value, -127);
}

TEST(HuffmanCode, ExtendMatchesTheStandard) {
  // T.81, table F.1 and F.2: size 1 is -1 and 1, size 3 is -7 to -4 and 4 to 7.
  EXPECT_EQ(HuffmanCode::Extend(0, 1), -1);
  EXPECT_EQ(HuffmanCode::Extend(1, 1), 1);
  EXPECT_EQ(HuffmanCode::Extend(0, 3), -7);
  EXPECT_EQ(HuffmanCode::Extend(3, 3), -4);
  EXPECT_EQ(HuffmanCode::Extend(4, 3), 4);
  EXPECT_EQ(HuffmanCode::Extend(0x7FFF, 15), 32767);
  EXPECT_EQ(HuffmanCode::Extend(0, 15), -32767);
}

TEST(HuffmanCode, InvalidBitsHaveNoSymbol) {
  CodeLengths lengths{};
  lengths[2] = 3;  // 00, 01, 10
  const Symbols symbols = {1, 2, 3};
  HuffmanCode code;
  ASSERT_TRUE(code.Build(HuffmanCode::Kind::kAc, lengths.data(), symbols.data()));
  EXPECT_EQ(code.Find(~uint64_t{0}).length, 0);
  EXPECT_EQ(code.pair(~uint64_t{0}).bits, 0);
}

TEST(HuffmanCode, RejectsInvalidCodes) {
  const Symbols symbols{};
  HuffmanCode code;
  const auto build = [&](HuffmanCode::Kind kind, const CodeLengths& lengths, const Symbols& of) {
    return code.Build(kind, lengths.data(), of.data());
  };
  CodeLengths all_ones{};
  all_ones[1] = 2;
  EXPECT_FALSE(build(HuffmanCode::Kind::kAc, all_ones, symbols));
  CodeLengths too_many{};
  too_many[2] = 2;
  too_many[3] = 5;
  EXPECT_FALSE(build(HuffmanCode::Kind::kAc, too_many, symbols));
  CodeLengths over_256{};
  over_256[15] = 200;
  over_256[16] = 200;
  EXPECT_FALSE(build(HuffmanCode::Kind::kAc, over_256, symbols));
  CodeLengths one{};
  one[1] = 1;
  const Symbols sixteen = {16};
  EXPECT_FALSE(build(HuffmanCode::Kind::kDc, one, sixteen));
  EXPECT_TRUE(build(HuffmanCode::Kind::kAc, one, sixteen));
  // A rejected code changes nothing.
  EXPECT_FALSE(build(HuffmanCode::Kind::kDc, one, sixteen));
  EXPECT_TRUE(build(HuffmanCode::Kind::kDc, one, symbols));
}

}  // namespace
}  // namespace penstock::image
