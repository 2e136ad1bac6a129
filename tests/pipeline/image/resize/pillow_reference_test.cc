// Compares decoding and resizing with Pillow and torchvision on real photographs. Without those it compares the same
// path on generated images with its own full decode.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/resize/resize.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::image {
namespace {

struct Pixels {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

// Accepts any format. JPEG uses the crop decoder.
absl::StatusOr<Pixels> DecodeAll(std::string_view bytes, const ImageLimits& limits = {}) {
  const auto header = ProbeImage(bytes);
  if (!header.ok()) return header.status();
  if (absl::Status status = CheckLimits(*header, limits); !status.ok()) return status;
  Pixels pixels{header->width, header->height, {}};
  const size_t row = static_cast<size_t>(header->width) * 3;
  pixels.rgb.resize(row * static_cast<size_t>(header->height));
  if (header->format != ImageFormat::kJpeg) {
    if (absl::Status status = DecodeOther(bytes, *header, 3, pixels.rgb.data(), row); !status.ok()) return status;
    return pixels;
  }
  JpegDecoder decoder;
  const auto damaged = decoder.Decode(bytes, {0, 0, header->width, header->height}, {}, pixels.rgb.data(), row);
  if (!damaged.ok()) return damaged.status();
  return pixels;
}

std::vector<uint8_t> CropAndResize(std::string_view bytes, const Rect& crop, ResizePlan plan) {
  JpegDecoder decoder;
  const Rect needed = SourceNeeded(plan);
  const size_t row = static_cast<size_t>(needed.width) * 3;
  std::vector<uint8_t> part(row * static_cast<size_t>(needed.height));
  EXPECT_TRUE(
      decoder.Decode(bytes, {crop.x + needed.x, crop.y + needed.y, needed.width, needed.height}, {}, part.data(), row)
          .ok());
  std::vector<uint8_t> out(static_cast<size_t>(plan.window.width * plan.window.height * 3));
  Resizer resizer;
  EXPECT_TRUE(resizer
                  .Run(plan, {part.data(), needed.width, needed.height, 3, row}, needed, out.data(),
                       static_cast<size_t>(plan.window.width) * 3)
                  .ok());
  return out;
}

struct Agreement {
  size_t values = 0, equal = 0;
  int worst = 0;
  void Compare(const std::vector<uint8_t>& ours, const std::vector<uint8_t>& theirs) {
    ASSERT_EQ(ours.size(), theirs.size());
    values += ours.size();
    for (size_t i = 0; i < ours.size(); ++i) {
      const int difference = std::abs(ours[i] - theirs[i]);
      equal += difference == 0;
      worst = std::max(worst, difference);
    }
  }
};

int Int(const google::protobuf::Value& value) { return static_cast<int>(value.number_value()); }

TEST(Pillow, CropResizeAndFlipMatchPillow) {
  const auto folder = ReferenceFolder();
  Agreement agreement;
  if (!folder) {
    const std::string bytes = MakeJpeg({.width = 300, .height = 200, .horizontal = 2, .vertical = 2});
    const Pixels full = *DecodeAll(bytes);
    const Rect crop{31, 22, 170, 140};
    const ResizePlan plan{
        .box_width = 170, .box_height = 140, .out_width = 224, .out_height = 224, .window = {0, 0, 224, 224}};
    std::vector<uint8_t> out(224 * 224 * 3);
    Resizer resizer;
    const ImageView view{full.rgb.data(), 300, 200, 3, 900};
    ASSERT_TRUE(resizer.Run(plan, view.Crop(crop), {0, 0, 170, 140}, out.data(), 224 * 3).ok());
    agreement.Compare(CropAndResize(bytes, crop, plan), out);
  } else {
    const auto manifest = ReadJson(*folder + "/pixels_pil/manifest.json");
    for (const auto& item : manifest.fields().at("entries").list_value().values()) {
      const auto& entry = item.struct_value().fields();
      const std::string bytes = ReadBytes(*folder + "/photos/" + entry.at("photo").string_value());
      const Pixels full = *DecodeAll(bytes);
      EXPECT_EQ(Sha256(full.rgb), entry.at("decode_sha256_rgb").string_value());
      for (const auto& item2 : entry.at("cases").list_value().values()) {
        const auto& one = item2.struct_value().fields();
        const auto& box = one.at("crop_xywh").list_value().values();
        const Rect crop{Int(box[0]), Int(box[1]), Int(box[2]), Int(box[3])};
        const auto& size = one.at("size").list_value().values();
        ResizePlan plan{.box_width = crop.width,
                        .box_height = crop.height,
                        .out_width = Int(size[0]),
                        .out_height = Int(size[1]),
                        .window = {0, 0, Int(size[0]), Int(size[1])},
                        .flip = one.at("flip").bool_value()};
        const std::string filter = one.at("filter").string_value();
        ASSERT_TRUE(filter == "bilinear" || filter == "bicubic") << filter;
        if (filter == "bicubic") plan.filter = ResizeFilter::kBicubic;
        const Pixels theirs = *DecodeAll(ReadBytes(*folder + "/pixels_pil/" + one.at("file").string_value()));
        agreement.Compare(CropAndResize(bytes, crop, plan), theirs.rgb);
      }
      // The evaluation transform: the shorter side becomes 256 (the other is rounded down), then the center 224.
      const int shorter = std::min(full.width, full.height);
      ResizePlan plan{.box_width = full.width,
                      .box_height = full.height,
                      .out_width = 256 * full.width / shorter,
                      .out_height = 256 * full.height / shorter};
      const auto offset = [](int side) {
        return static_cast<int>(std::nearbyint((side - 224) / 2.0));  // Python's round
      };
      plan.window = {offset(plan.out_width), offset(plan.out_height), 224, 224};
      const Pixels theirs = *DecodeAll(ReadBytes(*folder + "/pixels_pil/" + entry.at("eval_256_224").string_value()));
      agreement.Compare(CropAndResize(bytes, {0, 0, full.width, full.height}, plan), theirs.rgb);
    }
  }
  std::printf("%zu values, %.4f%% equal, largest difference %d\n", agreement.values,
              100.0 * static_cast<double>(agreement.equal) / static_cast<double>(agreement.values), agreement.worst);
  EXPECT_EQ(agreement.worst, 0);
}

// Odd formats, sizes and damage, with the results that the manifest states.
TEST(Pillow, OddFilesDecodeOrFailAsTheManifestStates) {
  const auto folder = ReferenceFolder();
  if (!folder) {
    for (const auto& [width, height] : {std::pair{1, 1}, {17, 17}, {3000, 1}}) {
      EXPECT_TRUE(DecodeAll(MakeJpeg({.width = width, .height = height})).ok());
    }
    EXPECT_FALSE(DecodeAll("").ok());
    EXPECT_FALSE(DecodeAll("text").ok());
    return;
  }
  const auto manifest = ReadJson(*folder + "/odd/manifest.json");
  for (const auto& item : manifest.fields().at("images").list_value().values()) {
    const auto& entry = item.struct_value().fields();
    const std::string name = entry.at("file").string_value();
    const std::string bytes = ReadBytes(*folder + "/odd/" + name);
    const auto pixels = DecodeAll(bytes);
    EXPECT_EQ(pixels.ok(), entry.at("decodes").bool_value()) << name << ": " << pixels.status();
    if (!pixels.ok()) {
      std::printf("%s: %s\n", name.c_str(), std::string(pixels.status().message()).c_str());
      continue;
    }
    const auto& size = entry.at("size").list_value().values();
    EXPECT_EQ(pixels->width, Int(size[0])) << name;
    EXPECT_EQ(pixels->height, Int(size[1])) << name;
    const auto sha = entry.find("pil_rgb_sha256");
    if (sha == entry.end()) continue;
    EXPECT_EQ(Sha256(pixels->rgb), sha->second.string_value()) << name;
    if (ProbeImage(bytes)->format != ImageFormat::kJpeg) continue;
    // The same picture joined from four crops.
    const int w = pixels->width, h = pixels->height, x = (w + 1) / 2, y = (h + 1) / 2;
    std::vector<uint8_t> joined(pixels->rgb.size());
    JpegDecoder decoder;
    for (const Rect& rect : {Rect{0, 0, x, y}, {x, 0, w - x, y}, {0, y, x, h - y}, {x, y, w - x, h - y}}) {
      if (rect.width == 0 || rect.height == 0) continue;
      const size_t at = static_cast<size_t>((rect.y * w + rect.x) * 3);
      EXPECT_TRUE(decoder.Decode(bytes, rect, {}, joined.data() + at, static_cast<size_t>(w) * 3).ok()) << name;
    }
    EXPECT_EQ(Sha256(joined), sha->second.string_value()) << name << " by crops";
  }
}

}  // namespace
}  // namespace penstock::image
