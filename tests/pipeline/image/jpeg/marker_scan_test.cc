#include "pipeline/image/jpeg/marker_scan.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/philox.h"

namespace penstock::image {
namespace {

// An exact allocation on the heap, so that a sanitizer detects reads after its end.
std::unique_ptr<uint8_t[]> RandomBytes(SampleRandom* random, size_t size) {
  static constexpr uint8_t kOften[] = {0xFF, 0xFF, 0, 0xD0};
  std::unique_ptr<uint8_t[]> bytes(new uint8_t[size]);
  const uint32_t often = 2 + random->Below(60);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(random->Below(often) == 0 ? kOften[random->Below(4)] : random->Below(255));
  }
  return bytes;
}

TEST(MarkerScan, FindsTheFirstMarkerWhereverItIs) {
  SampleRandom random(3, 0, 0);
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t size = 1 + random.Below(100);
    const auto bytes = RandomBytes(&random, size);
    const uint8_t* const end = bytes.get() + size - 1;
    for (const uint8_t* from = bytes.get(); from <= end; ++from) {
      const uint8_t* wanted = from;
      while (wanted < end && !(wanted[0] == 0xFF && wanted[1] != 0)) ++wanted;
      ASSERT_EQ(FindMarker(from, end) - from, wanted - from);
      found += wanted < end;
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(MarkerScan, CopyStepCopiesBytesAndFindsThoseOfAllOnes) {
  SampleRandom random(4, 0, 0);
  for (int round = 0; round < 3000; ++round) {
    const auto bytes = RandomBytes(&random, kScanStep);
    uint8_t copy[kScanStep];
    const uint32_t found = CopyStep(bytes.get(), copy);
    for (ptrdiff_t i = 0; i < kScanStep; ++i) {
      EXPECT_EQ(copy[i], bytes[static_cast<size_t>(i)]);
      EXPECT_EQ(found >> i & 1, copy[i] == 0xFF ? 1u : 0u);
    }
    EXPECT_EQ(found >> kScanStep, 0u);
  }
}

}  // namespace
}  // namespace penstock::image
