#include "pipeline/import/image_preparer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/image/formats/png.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"
#include "pipeline/image/jpeg/restart_jpeg.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/picture_maker.h"

namespace penstock::imports {
namespace {

using ::testing::HasSubstr;

std::string Png(int width, int height) {
  const std::vector<uint8_t> pixels = image::MakePixels(width, height, 3, 5);
  return *image::EncodePng({pixels.data(), width, height, 3, static_cast<size_t>(width) * 3});
}

std::vector<uint8_t> Pixels(std::string_view jpeg, int width, int height, int channels) {
  std::vector<uint8_t> out(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels));
  image::JpegDecoder decoder;
  const auto decoded = decoder.Decode(jpeg, {0, 0, width, height}, {.channels = channels}, out.data(),
                                      static_cast<size_t>(width) * static_cast<size_t>(channels));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return out;
}

PrepareOptions Options(bool restart_index, uint32_t longer_side = 0) {
  PrepareOptions options;
  options.restart_index = restart_index;
  options.longer_side = longer_side;
  return options;
}

TEST(ImagePreparer, ImagesWithoutChangesKeepTheirBytes) {
  ImagePreparer preparer(Options(false));
  for (const std::string& bytes :
       {image::MakeJpeg({.width = 50, .height = 40}), image::MakeJpeg({.width = 50, .height = 40, .progressive = true}),
        Png(50, 40), image::MakeBmp(50, 40, 1), image::MakeWebp(50, 40, {.seed = 2}), image::MakeGif(50, 40, 3)}) {
    const auto image = preparer.Prepare(bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->bytes, bytes);
    EXPECT_EQ(image->width, 50);
    EXPECT_EQ(image->height, 40);
    EXPECT_EQ(image->treatment, ImageTreatment::kKept);
  }
}

TEST(ImagePreparer, ARestartIndexedImageHasTheSamePixels) {
  ImagePreparer preparer(Options(true));
  for (const int components : {1, 3}) {
    const std::string bytes = image::MakeJpeg({.width = 90, .height = 70, .components = components});
    const auto image = preparer.Prepare(bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->treatment, ImageTreatment::kRestartIndexed);
    EXPECT_EQ(image->bytes, *image::AddRestartIndex(bytes));
    EXPECT_EQ(Pixels(image->bytes, 90, 70, 3), Pixels(bytes, 90, 70, 3));
  }
}

TEST(ImagePreparer, ImagesThatCannotBeIndexedKeepTheirBytes) {
  ImagePreparer preparer(Options(true));
  for (const std::string& bytes : {image::MakeJpeg({.width = 90, .height = 70, .progressive = true}),
                                   image::MakeJpeg({.width = 90, .height = 70, .components = 4}), Png(90, 70)}) {
    const auto image = preparer.Prepare(bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->treatment, ImageTreatment::kKept);
    EXPECT_EQ(image->bytes, bytes);
  }
}

TEST(ImagePreparer, OnlyImagesAboveTheLongerSideAreShrunk) {
  for (const bool restart_index : {false, true}) {
    ImagePreparer preparer(Options(restart_index, 64));
    for (const auto& [width, height, to_width, to_height] : {std::array{200, 100, 64, 32}, std::array{100, 201, 32, 64},
                                                             std::array{65, 65, 64, 64}, std::array{5000, 1, 64, 1}}) {
      for (const std::string& bytes : {image::MakeJpeg({.width = width, .height = height}), Png(width, height)}) {
        const auto image = preparer.Prepare(bytes);
        ASSERT_TRUE(image.ok()) << image.status();
        EXPECT_EQ(image->treatment, ImageTreatment::kReencoded);
        EXPECT_EQ(image->format, image::ImageFormat::kJpeg);
        EXPECT_EQ(image->width, to_width);
        EXPECT_EQ(image->height, to_height);
        const auto header = image::ProbeImage(image->bytes);
        ASSERT_TRUE(header.ok());
        EXPECT_EQ(header->width, to_width);
        EXPECT_EQ(header->height, to_height);
      }
    }
    const std::string small = Png(64, 10);
    EXPECT_EQ(preparer.Prepare(small)->bytes, small);
  }
}

TEST(ImagePreparer, ShrunkImagesAreThePilResizeOfTheDecodedImages) {
  const std::string bytes = image::MakeJpeg({.width = 128, .height = 96, .components = 1});
  ImagePreparer preparer(Options(false, 64));
  const auto image = preparer.Prepare(bytes);
  ASSERT_TRUE(image.ok());
  const std::vector<uint8_t> whole = Pixels(bytes, 128, 96, 1);
  std::vector<uint8_t> smaller(64 * 48);
  image::Resizer resizer;
  ASSERT_TRUE(
      resizer
          .Run({.box_width = 128, .box_height = 96, .out_width = 64, .out_height = 48, .window = {0, 0, 64, 48}},
               {whole.data(), 128, 96, 1, 128}, {0, 0, 128, 96}, smaller.data(), 64)
          .ok());
  EXPECT_EQ(std::string(image->bytes), *image::EncodeJpeg({smaller.data(), 64, 48, 1, 64}, {.quality = 90}));
  EXPECT_EQ(image::ProbeImage(image->bytes)->components, 1);
}

TEST(ImagePreparer, OrientationIsKept) {
  const std::vector<uint8_t> pixels = image::MakePixels(100, 50, 3, 1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto jpeg = image::EncodeJpeg({pixels.data(), 100, 50, 3, 300}, {.quality = 80, .orientation = orientation});
    ASSERT_TRUE(jpeg.ok());
    EXPECT_EQ(image::ProbeImage(*jpeg)->orientation, orientation);
    ImagePreparer preparer(Options(true, 40));
    const auto image = preparer.Prepare(*jpeg);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image::ProbeImage(image->bytes)->orientation, orientation);
    EXPECT_EQ(image->width, 40);
  }
}

TEST(ImagePreparer, FindsDamageUnlessLenientOrUnchecked) {
  const std::string whole = image::MakeJpeg({.width = 200, .height = 200});
  const std::string cut = whole.substr(0, whole.size() / 2);
  const std::string png = Png(50, 40);
  for (const bool restart_index : {false, true}) {
    PrepareOptions options = Options(restart_index);
    EXPECT_EQ(ImagePreparer(options).Prepare(cut).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(ImagePreparer(options).Prepare(png.substr(0, png.size() / 2)).status().code(),
              absl::StatusCode::kDataLoss);
    options.lenient = true;
    auto image = ImagePreparer(options).Prepare(cut);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->bytes, cut);
    options.lenient = false;
    options.check = false;
    image = ImagePreparer(options).Prepare(cut);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->bytes, cut);
  }
  EXPECT_EQ(ImagePreparer(Options(false, 64)).Prepare(cut).status().code(), absl::StatusCode::kDataLoss);
  PrepareOptions lenient = Options(false, 64);
  lenient.lenient = true;
  EXPECT_TRUE(ImagePreparer(lenient).Prepare(cut).ok());
}

TEST(ImagePreparer, RejectsOtherFilesAndLargeImages) {
  ImagePreparer preparer(Options(true));
  EXPECT_EQ(preparer.Prepare("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(preparer.Prepare("just text that is no image").status().code(), absl::StatusCode::kInvalidArgument);
  PrepareOptions limited = Options(true);
  limited.limits.max_pixels = 100;
  const auto large = ImagePreparer(limited).Prepare(image::MakeJpeg({.width = 20, .height = 20}));
  EXPECT_EQ(large.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(JpegEncoder, DecodesToSimilarPixelsAndRejectsInvalidOptions) {
  std::vector<uint8_t> pixels(64 * 48 * 3);  // smooth
  for (size_t i = 0; i < pixels.size(); ++i) {
    const size_t x = i / 3 % 64, y = i / 192;
    pixels[i] = static_cast<uint8_t>(x * 2 + y * (i % 3));
  }
  const auto jpeg = image::EncodeJpeg({pixels.data(), 64, 48, 3, 192}, {.quality = 95});
  ASSERT_TRUE(jpeg.ok());
  const std::vector<uint8_t> back = Pixels(*jpeg, 64, 48, 3);
  double error = 0;
  for (size_t i = 0; i < back.size(); ++i) error += std::abs(int{back[i]} - int{pixels[i]});
  EXPECT_LT(error / static_cast<double>(back.size()), 3);
  EXPECT_LT(image::EncodeJpeg({pixels.data(), 64, 48, 3, 192}, {.quality = 30})->size(), jpeg->size());
  EXPECT_FALSE(image::EncodeJpeg({pixels.data(), 64, 48, 3, 192}, {.quality = 0}).ok());
  EXPECT_FALSE(image::EncodeJpeg({pixels.data(), 64, 48, 3, 192}, {.quality = 101}).ok());
  EXPECT_FALSE(image::EncodeJpeg({pixels.data(), 0, 48, 3, 192}, {}).ok());
  EXPECT_FALSE(image::EncodeJpeg({pixels.data(), 70000, 1, 1, 70000}, {}).ok());
}

}  // namespace
}  // namespace penstock::imports
