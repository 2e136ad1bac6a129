#include "pipeline/image/jpeg/scan_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/philox.h"

namespace penstock::image {
namespace {

// `count` random bytes, about one in `ones` of them replaced by 0xFF, and the same bytes with stuffed zeros.
struct Scan {
  std::string plain, stuffed;
};

Scan RandomScan(SampleRandom* random, size_t count, uint32_t ones) {
  Scan scan;
  for (size_t i = 0; i < count; ++i) {
    const char byte = random->Below(ones) == 0 ? '\xFF' : static_cast<char>(random->Next32());
    scan.plain += byte;
    scan.stuffed += byte;
    if (byte == '\xFF') scan.stuffed += '\0';
  }
  return scan;
}

// An exact allocation on the heap, so that a sanitizer detects reads after its end.
struct Copy {
  explicit Copy(const std::string& bytes) : memory(new uint8_t[bytes.size()]), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), memory.get());
  }
  const uint8_t* begin() const { return memory.get(); }
  const uint8_t* end() const { return memory.get() + size; }
  std::unique_ptr<uint8_t[]> memory;
  size_t size;
};

// Reads `bytes` bytes as blocks of random size in pieces of random size.
std::string Read(ScanBits* bits, BitReader* reader, size_t bytes, SampleRandom* random) {
  std::string read;
  uint32_t held = 0;
  int held_bits = 0;
  size_t left = bytes * 8;
  while (left > 0) {
    bits->Prepare(reader);
    for (size_t block = 1 + random->Below(1900); block > 0 && left > 0;) {
      reader->Refill();
      EXPECT_GE(reader->count, 56);
      const int n = static_cast<int>(std::min<size_t>({1 + random->Below(16), block, left}));
      held = held << n | reader->Peek(n);
      held_bits += n;
      reader->Skip(n);
      for (; held_bits >= 8; held_bits -= 8) read += static_cast<char>(held >> (held_bits - 8));
      block -= static_cast<size_t>(n);
      left -= static_cast<size_t>(n);
    }
    EXPECT_TRUE(bits->Sound(*reader));
  }
  return read;
}

TEST(ScanBits, ReturnsTheBitsOfEachIntervalWithoutStuffedZeros) {
  SampleRandom random(8, 0, 0);
  for (const uint32_t ones : {2u, 50u, 1000000u}) {
    for (const size_t size :
         {size_t{1}, size_t{7}, size_t{300}, size_t{7927}, size_t{7928}, size_t{7929}, size_t{50000}}) {
      const Scan first = RandomScan(&random, size, ones), second = RandomScan(&random, 20, ones);
      const Copy bytes(first.stuffed + "\xFF\xD3" + second.stuffed + "\xFF\xD9");
      ScanBits bits;
      BitReader reader;
      bits.Start(bytes.begin(), bytes.end(), &reader);
      ASSERT_EQ(Read(&bits, &reader, size, &random), first.plain) << size;
      bits.Prepare(&reader);
      EXPECT_TRUE(bits.AtEnd(reader));
      EXPECT_EQ(bits.marker(), 0xD3);
      bits.StartNext(&reader);
      EXPECT_FALSE(bits.AtEnd(reader));
      ASSERT_EQ(Read(&bits, &reader, 20, &random), second.plain);
      bits.Prepare(&reader);
      EXPECT_TRUE(bits.AtEnd(reader));
      EXPECT_EQ(bits.marker(), 0xD9);
    }
  }
}

TEST(ScanBits, DetectsReadsBeyondTheEnd) {
  const Copy bytes("ab\xFF\xD9");
  ScanBits bits;
  BitReader reader;
  bits.Start(bytes.begin(), bytes.end(), &reader);
  reader.Refill();
  reader.Skip(8);
  EXPECT_TRUE(bits.Sound(reader));
  EXPECT_FALSE(bits.AtEnd(reader));  // a byte is left
  reader.Skip(8);
  EXPECT_TRUE(bits.Sound(reader));
  EXPECT_TRUE(bits.AtEnd(reader));
  EXPECT_EQ(reader.Peek(32), 0u);
  reader.Skip(1);
  EXPECT_FALSE(bits.Sound(reader));
  EXPECT_FALSE(bits.AtEnd(reader));
}

TEST(ScanBits, ReturnsZerosAfterTheEndForAnyNumberOfBlocks) {
  const Copy scan(std::string("\x5A\x5A\xFF\xD0", 4));
  const auto bits = std::make_unique<ScanBits>();  // on the heap, so that a sanitizer detects reads after its end
  BitReader reader;
  bits->Start(scan.begin(), scan.end(), &reader);
  reader.Refill();
  reader.Skip(16);
  EXPECT_TRUE(bits->AtEnd(reader));
  for (int block = 0; block < 1000; ++block) {
    bits->Prepare(&reader);
    for (ptrdiff_t read = 0; read < ScanBits::kBlockBytes - 8; read += 4) {
      reader.Refill();
      ASSERT_EQ(reader.Peek(32), 0u);
      reader.Skip(32);
    }
    ASSERT_FALSE(bits->Sound(reader));
    ASSERT_FALSE(bits->AtEnd(reader));
  }
}

// Without a marker, a read is sound only if eight more bytes follow it, because a decoder may read that far ahead.
TEST(ScanBits, DetectsTheEndOfTheFile) {
  for (const std::string end : {"", "\xFF", "\xFF\xFF", "\xFF\xFF\xFF\xD9"}) {
    const Copy bytes(std::string(20, 'x') + end);
    ScanBits bits;
    BitReader reader;
    bits.Start(bytes.begin(), bytes.end(), &reader);
    bits.Prepare(&reader);
    EXPECT_EQ(bits.marker(), ScanBits::kNoMarker);
    for (int byte = 1; byte <= 20; ++byte) {
      reader.Refill();
      reader.Skip(8);
      EXPECT_EQ(bits.Sound(reader), byte <= 12) << byte;
    }
  }
}

}  // namespace
}  // namespace penstock::image
