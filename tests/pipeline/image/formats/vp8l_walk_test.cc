// The memory that libwebp would need for a hostile lossless WebP is known before libwebp reads it.
#include "pipeline/image/headers/vp8l_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/decode.h>

#include <string>
#include <vector>

#include "pipeline/image/formats/decode_other.h"
#include "tests/pipeline/image/picture_maker.h"
#include "tests/pipeline/image/vp8l_maker.h"
#include "tests/support/allocation_peak.h"

namespace penstock::image {
namespace {

using ::testing::HasSubstr;

std::string_view Stream(const std::string& file) { return std::string_view(file).substr(20); }

// The bytes that libwebp itself allocates for the file.
size_t Taken(const std::string& file, const ImageHeader& header) {
  const size_t stride = static_cast<size_t>(header.width) * 3;
  std::vector<uint8_t> out(stride * static_cast<size_t>(header.height));
  const support::AllocationPeak peak;
  EXPECT_NE(WebPDecodeRGBInto(reinterpret_cast<const uint8_t*>(file.data()), file.size(), out.data(), out.size(),
                              static_cast<int>(stride)),
            nullptr);
  return peak.bytes();
}

TEST(PrefixCodeBytes, BoundsTheMemoryOfAHostileFile) {
  for (const bool transforms : {false, true}) {
    for (const int cache_bits : {0, 1, 6, 11}) {
      for (const int groups : {1, 2, 999, 1001, kMaxPrefixCodeGroups}) {
        const std::string file = MakeVp8l(
            {.width = 260, .height = 200, .groups = groups, .cache_bits = cache_bits, .transforms = transforms});
        const auto header = ProbeImage(file);
        ASSERT_TRUE(header.ok()) << header.status();
        const auto bytes = PrefixCodeBytes(Stream(file));
        ASSERT_TRUE(bytes.ok()) << bytes.status();
        EXPECT_EQ(header->prefix_code_bytes, *bytes);
        std::vector<uint8_t> out(260 * 200 * 3);
        for (const int channels : {3, 1}) {
          const support::AllocationPeak peak;
          const absl::Status status = DecodeOther(file, *header, channels, out.data(), 260 * 3);
          const size_t taken = peak.bytes();
          ASSERT_TRUE(status.ok()) << status;
          EXPECT_LE(taken, DecodeOtherBytes(*header)) << groups << " groups, " << cache_bits << " bits";
          EXPECT_GE(taken + (size_t{1} << 20), DecodeOtherBytes(*header)) << "the bound is nearly exact";
        }
      }
    }
  }
}

TEST(PrefixCodeBytes, RejectsMoreGroupsThanAnyEncoderWrites) {
  // 3250 groups of 20 KB: 65 MB for a picture of 260 x 200 pixels.
  const std::string many = MakeVp8l({.width = 260, .height = 200, .groups = 3250, .cache_bits = 11});
  // Few groups whose numbers are as high as those of many.
  const std::string high = MakeVp8l({.width = 260, .height = 200, .groups = 2, .first_group = 60000, .cache_bits = 11});
  for (const std::string& file : {many, high}) {
    const auto header = ProbeImage(file);
    ASSERT_TRUE(header.ok());
    std::vector<uint8_t> out(260 * 200 * 3);
    const support::AllocationPeak peak;
    const absl::Status status = DecodeOther(file, *header, 3, out.data(), 260 * 3);
    EXPECT_LE(peak.bytes(), DecodeOtherBytes(*header));
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("over the limit of 2600"));
  }
  EXPECT_GT(Taken(many, *ProbeImage(many)), size_t{38} << 20) << "libwebp alone allocates this much";
}

TEST(PrefixCodeBytes, TakesLittleMemoryItself) {
  // The largest accepted map, and one that is rejected.
  for (const int side : {1024, 2048}) {
    const std::string file = MakeVp8l({.width = side, .height = side, .groups = 300});
    const support::AllocationPeak peak;
    EXPECT_EQ(PrefixCodeBytes(Stream(file)).ok(), side == 1024);
    EXPECT_LE(peak.bytes(), (size_t{256} << 10) + 4096);
  }
}

TEST(PrefixCodeBytes, FilesOfEncodersAreAcceptedAndTakeLittleMemory) {
  for (const auto& [width, height] : {std::pair{1, 1}, {64, 64}, {222, 150}}) {
    for (const int method : {0, 4}) {
      for (const int channels : {3, 4}) {
        const std::string file = MakeWebp(width, height, {.channels = channels, .method = method});
        const auto header = ProbeImage(file);
        ASSERT_TRUE(header.ok());
        ASSERT_GT(header->prefix_code_bytes, size_t{0}) << PrefixCodeBytes(Stream(file)).status();
        const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
        EXPECT_LE(DecodeOtherBytes(*header), pixels * 32 + (size_t{1} << 20)) << width << " x " << height;
        EXPECT_LE(Taken(file, *header), DecodeOtherBytes(*header));
      }
    }
  }
}

TEST(PrefixCodeBytes, ATruncatedStreamIsRejectedOrHasTheSameBound) {
  const std::string file = MakeWebp(60, 50, {.quality = 100, .method = 6});
  const auto whole = PrefixCodeBytes(Stream(file));
  ASSERT_TRUE(whole.ok());
  for (size_t length = 0; length < Stream(file).size(); ++length) {
    const auto cut = PrefixCodeBytes(Stream(file).substr(0, length));
    if (cut.ok()) {
      EXPECT_EQ(*cut, *whole);
    }
  }
  EXPECT_FALSE(PrefixCodeBytes(Stream(file).substr(0, 6)).ok());
}

}  // namespace
}  // namespace penstock::image
