// Compares McuDecoder inside libjpeg with libjpeg alone: the same pixels, the same errors.
#include "pipeline/image/jpeg/jpeg_scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/image/jpeg/restart_jpeg.h"
#include "tests/pipeline/image/crop_support.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

void ExpectWhatLibjpegGives(JpegDecoder* decoder, std::string_view bytes, const Rect& rect, const std::string& what) {
  for (const bool lenient : {false, true}) {
    const DecodedCrop ours = DecodeCrop(decoder, bytes, rect, 3, lenient);
    const DecodedCrop libjpegs = DecodeCrop(decoder, bytes, rect, 3, lenient, /*libjpeg_alone=*/true);
    EXPECT_EQ(ours.status, libjpegs.status) << what << " " << ToString(rect);
    EXPECT_TRUE(ours == libjpegs) << what << " " << ToString(rect);
  }
}

std::vector<JpegRecipe> Recipes() {
  std::vector<JpegRecipe> recipes;
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}}) {
    for (const int restart : {0, 1, 3, 11}) {
      recipes.push_back({.width = 203,
                         .height = 151,
                         .horizontal = horizontal,
                         .vertical = vertical,
                         .restart_interval = restart,
                         .quality = 98 - 20 * restart / 3});
    }
  }
  recipes.push_back({.width = 203, .height = 151, .components = 1});
  recipes.push_back(
      {.width = 203, .height = 151, .components = 1, .horizontal = 2, .vertical = 2, .restart_interval = 5});
  recipes.push_back({.width = 203, .height = 151, .components = 4, .horizontal = 2, .vertical = 1});
  recipes.push_back({.width = 203, .height = 151, .components = 4, .ycck = true});
  return recipes;
}

TEST(JpegScan, EverySequentialKindGivesLibjpegsPixels) {
  JpegDecoder decoder;
  SampleRandom random(1, 0, 0);
  for (const JpegRecipe& recipe : Recipes()) {
    const std::string bytes = MakeJpeg(recipe);
    ExpectWhatLibjpegGives(&decoder, bytes, {0, 0, recipe.width, recipe.height}, "whole");
    for (int i = 0; i < 10; ++i) {
      ExpectWhatLibjpegGives(&decoder, bytes, RandomRect(&random, recipe.width, recipe.height), "crop");
    }
  }
  EXPECT_EQ(decoder.decoded_again(), 0u) << "McuDecoder decoded all images";
}

TEST(JpegScan, LibjpegAloneDecodesOtherKinds) {
  JpegDecoder decoder;
  for (const JpegRecipe& recipe : {JpegRecipe{.width = 90, .height = 70, .progressive = true},
                                   {.width = 90, .height = 70, .separate_scans = true}}) {
    ExpectWhatLibjpegGives(&decoder, MakeJpeg(recipe), {10, 20, 60, 40}, "several scans");
  }
  EXPECT_EQ(decoder.decoded_again(), 0u);
}

TEST(JpegScan, EveryPhotographGivesLibjpegsPixels) {
  const auto folder = ReferenceFolder();
  JpegDecoder decoder;
  SampleRandom random(2, 0, 0);
  std::vector<std::string> photos;
  if (folder) {
    for (const std::string& name : ListFolder(*folder + "/photos"))
      photos.push_back(ReadBytes(*folder + "/photos/" + name));
  } else {
    photos.push_back(MakeJpeg({.width = 500, .height = 375, .horizontal = 2, .vertical = 2, .quality = 95}));
  }
  for (const std::string& photo : photos) {
    const auto header = ProbeImage(photo);
    ASSERT_TRUE(header.ok());
    ExpectWhatLibjpegGives(&decoder, photo, {0, 0, header->width, header->height}, "photograph");
    for (int i = 0; i < 3; ++i) {
      ExpectWhatLibjpegGives(&decoder, photo, RandomRect(&random, header->width, header->height), "photograph");
    }
  }
  EXPECT_EQ(decoder.decoded_again(), 0u);
}

TEST(JpegScan, OddDataGivesLibjpegsResult) {
  JpegDecoder decoder;
  SampleRandom random(3, 0, 0);
  for (const int restart : {0, 4}) {
    const int width = 130, height = 90;
    const std::string good = MakeJpeg(
        {.width = width, .height = height, .horizontal = 2, .vertical = 2, .restart_interval = restart, .quality = 90});
    const size_t scan = good.find("\xFF\xDA");
    for (int i = 0; i < 400; ++i) {
      std::string bad = good;
      const size_t at = scan + random.Below(static_cast<uint32_t>(good.size() - scan));
      switch (i % 5) {
        case 0:
          bad[at] = static_cast<char>(random.Next32());
          break;
        case 1:
          bad.resize(at);
          break;
        case 2:
          bad.insert(at, "\xFF\xD2");
          break;
        case 3:
          bad.erase(at, 1 + random.Below(30));
          break;
        default:
          bad.insert(at, std::string(1 + random.Below(3), static_cast<char>(random.Next32())));
      }
      ExpectWhatLibjpegGives(&decoder, bad, {0, 0, width, height}, "damaged " + std::to_string(i));
      ExpectWhatLibjpegGives(&decoder, bad, RandomRect(&random, width, height), "damaged " + std::to_string(i));
    }
  }
  EXPECT_GT(decoder.decoded_again(), 500u);
}

// Every length of a file, down to the last bytes that a decoder reads ahead.
TEST(JpegScan, ATruncatedFileGivesLibjpegsResult) {
  JpegDecoder decoder;
  const std::string good = MakeJpeg({.width = 33, .height = 25, .horizontal = 2, .vertical = 1});
  for (size_t length = good.find("\xFF\xDA"); length <= good.size(); ++length) {
    ExpectWhatLibjpegGives(&decoder, good.substr(0, length), {0, 0, 33, 25}, std::to_string(length) + " bytes");
    ExpectWhatLibjpegGives(&decoder, good.substr(0, length), {3, 2, 20, 9}, std::to_string(length) + " bytes");
  }
}

// Odd data does not change the decoder's later results.
TEST(JpegScan, KeepsNoStateOfThePreviousImage) {
  JpegDecoder decoder;
  const std::string good = MakeJpeg({.width = 64, .height = 48, .restart_interval = 2});
  const Rect whole{0, 0, 64, 48};
  const DecodedCrop wanted = DecodeCrop(&decoder, good, whole);
  for (const size_t length : {good.size() / 2, good.size() / 3, size_t{30}}) {
    EXPECT_FALSE(DecodeCrop(&decoder, good.substr(0, length), whole).status.ok());
    const uint64_t again = decoder.decoded_again();
    EXPECT_FALSE(DecodeCrop(&decoder, "no image", whole).status.ok());
    EXPECT_EQ(decoder.decoded_again(), again);
    EXPECT_TRUE(DecodeCrop(&decoder, good, whole) == wanted);
  }
}

}  // namespace
}  // namespace penstock::image
