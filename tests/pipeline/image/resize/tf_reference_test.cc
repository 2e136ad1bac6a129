// Compares TF_BILINEAR with TensorFlow on real photographs. Without those it checks invariants of every such resize.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/resize/tf_resize.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

std::vector<float> Resized(bool antialias, const ImageView& image, int width, int height) {
  TfAxis columns, rows;
  BuildTfAxis(antialias, image.width, width, 0, width, false, &columns);
  BuildTfAxis(antialias, image.height, height, 0, height, false, &rows);
  TfRows result;
  result.Start(columns, rows, image);
  std::vector<float> out;
  for (int y = 0; y < height; ++y) {
    const float* row = result.Row(y);
    out.insert(out.end(), row, row + width * image.channels);
  }
  return out;
}

// The values of an .npy file of int16. Its data follows a header whose length is in bytes 8 and 9.
std::vector<int16_t> ReadInt16(const std::string& path) {
  const std::string bytes = ReadBytes(path);
  const size_t header = 10 + static_cast<uint8_t>(bytes[8]) + 256u * static_cast<uint8_t>(bytes[9]);
  EXPECT_NE(bytes.find("'<i2'"), std::string::npos);
  std::vector<int16_t> values((bytes.size() - header) / 2);
  std::memcpy(values.data(), bytes.data() + header, values.size() * 2);
  return values;
}

TEST(TfReference, ValuesAreWithinOneSixtyFourthOfTensorFlow) {
  const auto folder = ReferenceFolder();
  if (!folder) {
    const std::vector<uint8_t> pixels = MakePixels(300, 200, 3, 1);
    const ImageView view{pixels.data(), 300, 200, 3, 900};
    double before = 0, after = 0;
    for (const uint8_t value : pixels) before += value;
    for (const float value : Resized(true, view, 150, 100)) after += value;
    EXPECT_NEAR(before / (300 * 200), after / (150 * 100), 0.5);  // the mean is unchanged
    return;
  }
  const auto manifest = ReadJson(*folder + "/pixels_tf/manifest.json");
  for (const bool antialias : {false, true}) {
    double worst = 0;
    size_t values = 0, same = 0;
    for (const auto& item : manifest.fields().at("entries").list_value().values()) {
      const auto& entry = item.struct_value().fields();
      const std::string jpeg = ReadBytes(*folder + "/photos/" + entry.at("photo").string_value());
      const auto& box = entry.at("crop_xywh").list_value().values();
      const auto side = [&](int i) { return static_cast<int>(box[i].number_value()); };
      const Rect crop{side(0), side(1), side(2), side(3)};
      const size_t row = static_cast<size_t>(crop.width) * 3;
      std::vector<uint8_t> pixels(row * static_cast<size_t>(crop.height));
      JpegDecoder decoder;
      ASSERT_TRUE(decoder.Decode(jpeg, crop, {}, pixels.data(), row).ok());
      EXPECT_EQ(Sha256(pixels), entry.at("decode_crop_sha256_rgb").string_value());
      const std::vector<float> ours = Resized(antialias, {pixels.data(), crop.width, crop.height, 3, row}, 224, 224);
      const auto& files = entry.at("files").struct_value().fields();
      const std::string name = files.at(antialias ? "tf_bilinear_antialias" : "tf_bilinear").string_value();
      const std::vector<int16_t> theirs = ReadInt16(*folder + "/pixels_tf/" + name);
      ASSERT_EQ(ours.size(), theirs.size());
      for (size_t i = 0; i < ours.size(); ++i) {
        worst = std::max(worst, std::fabs(static_cast<double>(ours[i]) * 64 - theirs[i]));
        same += std::nearbyint(ours[i] * 64) == theirs[i];
      }
      values += ours.size();
    }
    std::printf("%s: %zu values, %.4f%% the same 64ths, largest difference %.3f of a 64th\n",
                antialias ? "antialias" : "no antialias", values,
                100.0 * static_cast<double>(same) / static_cast<double>(values), worst);
    EXPECT_LE(worst, 1.0);
  }
}

}  // namespace
}  // namespace penstock::image
