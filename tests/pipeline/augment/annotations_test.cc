// Boxes and masks follow the pixels.
#include "pipeline/augment/features/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "opencv2/core.hpp"
#include "pipeline/augment/features/ragged.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/image/orientation.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

constexpr int kWidth = 120, kHeight = 90;

std::string Png(int width, int height, const image::Rect& white, int channels) {
  cv::Mat picture = cv::Mat::zeros(height, width, channels == 3 ? CV_8UC3 : CV_8UC1);
  picture(cv::Rect(white.x, white.y, white.width, white.height)).setTo(cv::Scalar::all(255));
  return *image::EncodePng({picture.data, width, height, channels, picture.step});
}

std::string Record(const std::vector<image::Rect>& boxes, const std::string& image, const std::string& mask) {
  std::vector<float> sides[4];
  std::vector<int64_t> labels;
  std::vector<std::string> names;
  for (const image::Rect& box : boxes) {
    sides[0].push_back(static_cast<float>(box.x) / kWidth);
    sides[1].push_back(static_cast<float>(box.y) / kHeight);
    sides[2].push_back(static_cast<float>(box.x + box.width) / kWidth);
    sides[3].push_back(static_cast<float>(box.y + box.height) / kHeight);
    labels.push_back(static_cast<int64_t>(labels.size()) + 10);
    names.push_back("object " + std::string(labels.size(), 'x'));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  return records::ExampleBuilder()
      .Bytes("image/encoded", image)
      .Bytes("mask", mask)
      .FloatList("image/object/bbox/xmin", sides[0])
      .FloatList("image/object/bbox/ymin", sides[1])
      .FloatList("image/object/bbox/xmax", sides[2])
      .FloatList("image/object/bbox/ymax", sides[3])
      .Int64List("image/object/class/label", labels)
      .BytesList("image/object/class/text", views)
      .Serialize();
}

std::string Record(const image::Rect& rect) {
  return Record({rect}, Png(kWidth, kHeight, rect, 3), Png(kWidth, kHeight, rect, 1));
}

v1::JobSpec Job(const std::string& ops, const std::string& boxes = "", const std::string& more = "") {
  return ParseJob(
      "features { key: 'image/encoded' column: 'image' type: BYTES }"
      "features { key: 'mask' type: BYTES }"
      "features { key: 'image/object/class/label' column: 'labels' type: INT64 variable_length: true }"
      "features { key: 'image/object/class/text' column: 'names' type: BYTES variable_length: true }"
      "ops { decode_image { } } " +
      ops + "ops { column: 'mask' decode_image { channels: GRAY } }" + more +
      "annotations { masks: 'mask' boxes { companions: ['labels', 'names'] " + boxes + " } }");
}

struct Made {
  int width = 0, height = 0;
  std::vector<uint8_t> image, mask;
  std::vector<std::vector<float>> boxes;
  std::vector<int64_t> labels;
  std::string names;
};

Made Read(const Pipeline& pipeline, const OwnedRow& row) {
  Made made;
  made.height = static_cast<int>(pipeline.schema().columns[0].shape[0]);
  made.width = static_cast<int>(pipeline.schema().columns[0].shape[1]);
  made.image = row.As<uint8_t>(0);
  made.mask = row.As<uint8_t>(1);
  const std::string& labels = row.slot.ragged[2];
  made.labels.resize(RaggedCount(labels));
  if (!made.labels.empty()) std::memcpy(made.labels.data(), labels.data() + 4, labels.size() - 4);
  made.names = row.slot.ragged[3];
  const std::string& boxes = row.slot.ragged[4];
  EXPECT_EQ(boxes.size(), 4 + RaggedCount(boxes) * 16);
  for (size_t i = 0; i < RaggedCount(boxes); ++i) {
    std::vector<float> box(4);
    std::memcpy(box.data(), boxes.data() + 4 + 16 * i, 16);
    made.boxes.push_back(box);
  }
  return made;
}

absl::StatusOr<Made> TryMake(const v1::JobSpec& job, const std::string& record, const SampleKey& key = {}) {
  const auto pipeline = BuildPipeline(job);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status status = pipeline->MakeRow(record, key, &row.slot, &scratch);
  if (!status.ok()) return status;
  EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record));
  // A decoded image from a cache gives the same row.
  RowScratch scratch2;
  const auto decoded = pipeline->MakeDecoded(record, &scratch2);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  OwnedRow again(pipeline->schema());
  EXPECT_TRUE(pipeline->MakeRowFromDecoded(record, *decoded, key, &again.slot, &scratch2).ok());
  EXPECT_EQ(again.memory, row.memory);
  EXPECT_EQ(again.slot.ragged, row.slot.ragged);
  return Read(*pipeline, row);
}

Made Make(const v1::JobSpec& job, const std::string& record, const SampleKey& key = {}) {
  auto made = TryMake(job, record, key);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *made : Made();
}

// The bounding box of the pixels over 127 in channel 0.
std::vector<float> PixelsBox(const std::vector<uint8_t>& pixels, int width, int channels) {
  std::vector<float> box{1e9f, 1e9f, -1, -1};
  for (size_t i = 0; i < pixels.size(); i += static_cast<size_t>(channels)) {
    if (pixels[i] <= 127) continue;
    const float x = static_cast<float>(static_cast<int>(i) / channels % width);
    const float y = static_cast<float>(static_cast<int>(i) / channels / width);
    box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1), std::max(box[3], y + 1)};
  }
  return box;
}

const std::string kResizeAll = "ops { resize { height: 80 width: 100 filter: NEAREST } } ";

const std::string kMoves[] = {
    "",
    "ops { random_resized_crop { height: 96 width: 64 filter: NEAREST } }",
    "ops { random_horizontal_flip { probability: 1 } }",
    "ops { random_vertical_flip { probability: 1 } }",
    "ops { center_crop { height: 60 width: 200 } }",
    "ops { center_crop { height: 100 width: 50 } }",
    "ops { resize { shorter_side: 47 filter: NEAREST } }",
    "ops { random_crop { height: 70 width: 100 padding: 9 } }",
    "ops { random_crop { height: 60 width: 70 } }",
    "ops { pad { left: 13 top: 5 right: 2 bottom: 31 } }",
    "ops { rotate { min_degrees: -40 max_degrees: 40 filter: NEAREST } }",
    "ops { affine { min_degrees: -20 max_degrees: 20 translate_x: 0.1 translate_y: 0.1 scale_min: 0.7 scale_max: 1.3 "
    "min_shear_x_degrees: -10 max_shear_x_degrees: 10 filter: NEAREST } }",
    "ops { perspective { probability: 1 distortion: 0.4 filter: NEAREST } }",
    "ops { zoom_out { probability: 1 scale_max: 2 } }",
    "ops { random_apply { ops { random_horizontal_flip { probability: 1 } } ops { rotate { max_degrees: 30 filter: "
    "NEAREST } } } }",
    "ops { one_of { ops { random_vertical_flip { probability: 1 } } ops { affine { translate_x: 0.2 filter: NEAREST } "
    "} "
    "} }",
};

// A rectangle is painted into the image and the mask. Every op moves box and mask with it.
TEST(Annotations, TheBoxOfARectangleFollowsItThroughEveryOp) {
  for (const std::string& move : kMoves) {
    for (uint64_t id = 0; id < 12; ++id) {
      const image::Rect rect{static_cast<int>(30 + id * 3 % 20), static_cast<int>(20 + id * 7 % 15), 34, 27};
      const Made made = Make(Job(move + kResizeAll), Record(rect), {.record_id = id});
      const std::vector<float> pixels = PixelsBox(made.image, made.width, 3);
      if (pixels[2] < 0) {
        // A sliver may be between the samples.
        for (const auto& box : made.boxes) EXPECT_LT(std::min(box[2] - box[0], box[3] - box[1]), 2.0f) << move;
        continue;
      }
      ASSERT_EQ(made.boxes.size(), 1u) << move << " " << id;
      for (size_t i = 0; i < 4; ++i) {
        // The box of a turned and cut rectangle may be larger than the visible part at a cut corner.
        const bool turned = move.find("degrees") != std::string::npos || move.find("perspective") != std::string::npos;
        if (turned &&
            (made.boxes[0][0] <= 0 || made.boxes[0][1] <= 0 || made.boxes[0][2] >= 100 || made.boxes[0][3] >= 80)) {
          EXPECT_LE((i < 2 ? 1 : -1) * (made.boxes[0][i] - pixels[i]), 2.0f) << move << " " << id;
        } else {
          EXPECT_NEAR(made.boxes[0][i], pixels[i], 2.0f) << move << " " << id << " side " << i;
        }
      }
      EXPECT_EQ(made.labels, (std::vector<int64_t>{10}));
    }
  }
}

TEST(Annotations, AMaskMovesAsAnImageWithNearestNeighborDoes) {
  for (const std::string& move : kMoves) {
    for (uint64_t id = 0; id < 6; ++id) {
      const Made made = Make(Job(move + kResizeAll), Record(image::Rect{41, 22, 34, 27}), {.record_id = id});
      ASSERT_EQ(made.mask.size() * 3, made.image.size());
      size_t unlike = 0;
      for (size_t i = 0; i < made.mask.size(); ++i) unlike += made.mask[i] != made.image[3 * i];
      EXPECT_EQ(unlike, 0u) << move << " " << id;
    }
  }
}

TEST(Annotations, MasksTakePadModes) {
  for (const std::string mode : {"EDGE", "REFLECT", "SYMMETRIC"}) {
    const Made made =
        Make(Job("ops { pad { left: 60 bottom: 50 mode: " + mode + " } }" + kResizeAll), Record({0, 60, 20, 30}));
    for (size_t i = 0; i < made.mask.size(); ++i) ASSERT_EQ(made.mask[i], made.image[3 * i]);
  }
}

TEST(Annotations, BoxesAreClippedAndDroppedWithTheirCompanions) {
  // The crop keeps columns 30 to 90 and rows 15 to 75.
  const std::vector<image::Rect> boxes = {
      {0, 20, 20, 20},   // outside
      {20, 20, 20, 20},  // half of it
      {40, 40, 10, 10},  // entirely inside
      {85, 70, 20, 20},  // a sixteenth
      {50, 50, 0, 5},    // empty from the beginning
  };
  const std::string record =
      Record(boxes, Png(kWidth, kHeight, {0, 0, 1, 1}, 3), Png(kWidth, kHeight, {0, 0, 1, 1}, 1));
  const std::string crop = "ops { center_crop { height: 60 width: 60 } }";
  const auto near = [](const std::vector<float>& box, const std::vector<float>& wanted) {
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(box[i], wanted[i], 1e-4);
  };
  Made made = Make(Job(crop), record);
  EXPECT_EQ(made.labels, (std::vector<int64_t>{11, 12, 13}));
  ASSERT_EQ(made.boxes.size(), 3u);
  near(made.boxes[0], {0, 5, 10, 25});
  near(made.boxes[1], {10, 25, 20, 35});
  near(made.boxes[2], {55, 55, 60, 60});
  EXPECT_EQ(made.names.substr(0, 4), std::string("\3\0\0\0", 4));
  EXPECT_EQ(made.names.substr(16), "object xxobject xxxobject xxxx");
  made = Make(Job(crop, "min_visible: 0.4"), record);
  EXPECT_EQ(made.labels, (std::vector<int64_t>{11, 12}));
  made = Make(Job(crop, "min_area: 150"), record);
  EXPECT_EQ(made.labels, (std::vector<int64_t>{11}));
  // A part of a box that a crop removed stays removed, even if a later op moves the image.
  made = Make(Job(crop + "ops { pad { left: 50 right: 50 } }", "min_visible: 0.6"), record);
  EXPECT_EQ(made.labels, (std::vector<int64_t>{12}));
  near(made.boxes[0], {60, 25, 70, 35});
  made = Make(Job(crop, "min_area: 1e6"), record);
  EXPECT_TRUE(made.boxes.empty());
  EXPECT_EQ(made.names, std::string(4, '\0'));
}

TEST(Annotations, MasksAndBoxesFollowEveryOrientation) {
  const int width = 7, height = 5;
  const std::vector<uint8_t> pixels = image::MakePixels(width, height, 1, 3);
  const image::ImageView stored{pixels.data(), width, height, 1, static_cast<size_t>(width)};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Arena arena;
    Followers followers;
    followers.Start(width, height);
    followers.AddMask(stored, 0);
    const image::Rect upright = image::SwapsSides(orientation) ? image::Rect{1, 2, 3, 4} : image::Rect{2, 1, 4, 3};
    const image::Rect box = image::StoredRect(upright, orientation, width, height);
    followers.AddBox(box.x, box.y, box.x + box.width, box.y + box.height);
    followers.Apply(ImageMove::Turn(orientation, width, height), &arena);
    std::vector<uint8_t> turned(pixels.size());
    const int turned_width = image::SwapsSides(orientation) ? height : width;
    image::TurnUpright(stored, orientation, turned.data(), static_cast<size_t>(turned_width));
    const image::ImageView& mask = followers.masks()[0];
    ASSERT_EQ(mask.width, turned_width);
    for (int y = 0; y < mask.height; ++y) {
      for (int x = 0; x < mask.width; ++x) {
        ASSERT_EQ(mask.row(y)[x], turned[static_cast<size_t>(y * turned_width + x)]) << orientation;
      }
    }
    const Followers::Box& moved = followers.boxes()[0];
    EXPECT_EQ(moved.x0, upright.x) << orientation;
    EXPECT_EQ(moved.y0, upright.y) << orientation;
    EXPECT_EQ(moved.x1, upright.x + upright.width) << orientation;
    EXPECT_EQ(moved.y1, upright.y + upright.height) << orientation;
  }
}

// Corners are fractions in float32, so their product with the side may be about 1e-5 beyond the pixel's edge.
TEST(Annotations, ABoxThatEndsWhereACropBeginsIsDropped) {
  Arena arena;
  Followers followers;
  int slivers = 0;
  for (int side = 50; side <= 700; ++side) {
    for (int x = 10; x + 10 < side; x += 3) {
      const auto corner = [&](int at) {
        return static_cast<double>(static_cast<float>(at) / static_cast<float>(side)) * side;
      };
      slivers += corner(x) != x ? 1 : 0;
      for (const bool before : {true, false}) {
        const double from = corner(before ? x - 10 : x), to = corner(before ? x : x + 10);
        const image::Rect window = before ? image::Rect{x, 0, side - x, side} : image::Rect{0, 0, x, side};
        const auto crop = [&](const image::Rect& part, double x0, double y0, double x1, double y1) {
          followers.Start(side, side);
          followers.AddBox(x0, y0, x1, y1);
          followers.Apply(ImageMove::Window(part), &arena);
          return followers.boxes()[0].kept;
        };
        ASSERT_FALSE(crop(window, from, 5, to, 25)) << side << " " << x;
        ASSERT_FALSE(crop({window.y, window.x, window.height, window.width}, 5, from, 25, to)) << side << " " << x;
      }
    }
  }
  EXPECT_GT(slivers, 1000);
}

TEST(Annotations, EveryDeliveredBoxHasAnAreaAndItsCompanions) {
  const v1::JobSpec job = Job("ops { random_crop { height: 70 width: 100 } } " + kResizeAll);
  std::vector<image::Rect> boxes;
  for (int x = 0; x + 7 <= kWidth; x += 7) {
    for (int y = 0; y + 7 <= kHeight; y += 7) boxes.push_back({x, y, 7, 7});
  }
  const std::string record = Record(boxes, Png(kWidth, kHeight, boxes[0], 3), Png(kWidth, kHeight, boxes[0], 1));
  for (uint64_t id = 0; id < 200; ++id) {
    const Made made = Make(job, record, {.record_id = id});
    ASSERT_EQ(made.labels.size(), made.boxes.size());
    for (const std::vector<float>& box : made.boxes) {
      ASSERT_GT(box[2], box[0]) << id;
      ASSERT_GT(box[3], box[1]) << id;
      ASSERT_GT((box[2] - box[0]) * (box[3] - box[1]), 0.01f) << id;
    }
  }
}

TEST(Annotations, ABoxThatFloat32MakesALineIsDropped) {
  const v1::JobSpec job = ParseJob(
      "features { key: 'image/encoded' column: 'image' type: BYTES } ops { decode_image { } }"
      "ops { resize { height: 8 width: 8 } } annotations { boxes { } }");
  std::vector<std::string> errors;
  const auto features = FeatureSet::Create(job, &errors);
  const auto plan = AnnotationPlan::Create(job, features, &errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_FALSE(plan.Keeps({.x0 = 60000.0, .y0 = 10, .x1 = 60000.001, .y1 = 20}));
  EXPECT_FALSE(plan.Keeps({.x0 = 10, .y0 = 60000.0, .x1 = 20, .y1 = 60000.001}));
  EXPECT_TRUE(plan.Keeps({.x0 = 60000.0, .y0 = 10, .x1 = 60000.01, .y1 = 20}));
}

TEST(Annotations, TheJobSetsKeysNamesAndUnitsOfBoxes) {
  v1::JobSpec job = ParseJob(
      "features { key: 'image/encoded' column: 'picture' type: BYTES } ops { column: 'picture' decode_image { } }"
      "ops { column: 'picture' resize { height: 45 width: 60 } }"
      "annotations { image: 'picture' boxes { column: 'objects' pixels: true xmin_key: 'l' ymin_key: 't' xmax_key: 'r' "
      "ymax_key: 'b' } }");
  const auto pipeline = BuildPipeline(job);
  ASSERT_EQ(pipeline->schema().columns.size(), 2u);
  EXPECT_EQ(pipeline->schema().columns[1],
            (batch::ColumnSpec{.name = "objects", .dtype = batch::DType::kFloat32, .ragged = true, .shape = {4}}));
  const std::string record = records::ExampleBuilder()
                                 .Bytes("image/encoded", Png(kWidth, kHeight, {0, 0, 1, 1}, 3))
                                 .Float("l", 10)
                                 .Float("t", 20)
                                 .Float("r", 30)
                                 .Float("b", 500)
                                 .Serialize();
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  ASSERT_TRUE(pipeline->MakeRow(record, {}, &row.slot, &scratch).ok());
  float box[4];
  ASSERT_EQ(row.slot.ragged[1].size(), 20u);
  std::memcpy(box, row.slot.ragged[1].data() + 4, 16);
  EXPECT_THAT(box, testing::ElementsAre(5, 10, 15, 45));
  // A picture without objects.
  const std::string empty =
      records::ExampleBuilder().Bytes("image/encoded", Png(kWidth, kHeight, {0, 0, 1, 1}, 3)).Serialize();
  ASSERT_TRUE(pipeline->MakeRow(empty, {}, &row.slot, &scratch).ok());
  EXPECT_EQ(row.slot.ragged[1], std::string(4, '\0'));
}

TEST(Annotations, AMaskMayBeCastToNumbers) {
  const v1::JobSpec job = Job(kResizeAll, "", "ops { column: 'mask' cast { to: INT32 } }");
  const auto pipeline = BuildPipeline(job);
  EXPECT_EQ(pipeline->schema().columns[1].shape, (std::vector<int64_t>{80, 100, 1}));
  EXPECT_EQ(pipeline->schema().columns[1].dtype, batch::DType::kInt32);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string record = Record(image::Rect{10, 10, 40, 30});
  ASSERT_TRUE(pipeline->MakeRow(record, {}, &row.slot, &scratch).ok());
  EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record));
  EXPECT_EQ(row.As<int32_t>(1)[30 * 100 + 30], 255);
}

TEST(Annotations, ErrorsOfFaultyRecordsNameTheCause) {
  const v1::JobSpec job = Job(kResizeAll);
  const std::string image = Png(kWidth, kHeight, {0, 0, 1, 1}, 3), mask = Png(kWidth, kHeight, {0, 0, 1, 1}, 1);
  const auto message = [&](const std::string& record) {
    const auto pipeline = BuildPipeline(job);
    OwnedRow row(pipeline->schema());
    RowScratch scratch;
    pipeline->ScratchBytes(record);
    const absl::Status status = pipeline->MakeRow(record, {}, &row.slot, &scratch);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message(Record({}, image, Png(80, 70, {0, 0, 1, 1}, 1))),
              testing::AllOf(testing::HasSubstr("column 'mask' is 80 x 70"), testing::HasSubstr("120 x 90")));
  const auto with = [&](const std::vector<float>& xmin, const std::vector<int64_t>& labels) {
    const std::vector<float> one{0.5f};
    return records::ExampleBuilder()
        .Bytes("image/encoded", image)
        .Bytes("mask", mask)
        .FloatList("image/object/bbox/xmin", xmin)
        .FloatList("image/object/bbox/ymin", one)
        .FloatList("image/object/bbox/xmax", one)
        .FloatList("image/object/bbox/ymax", one)
        .Int64List("image/object/class/label", labels)
        .Serialize();
  };
  EXPECT_THAT(message(with({0.1f, 0.2f}, {1})),
              testing::AllOf(testing::HasSubstr("2, 1, 1 and 1 values"), testing::HasSubstr("image/object/bbox/xmin")));
  EXPECT_THAT(message(with({0.6f}, {1})), testing::HasSubstr("no rectangle"));
  EXPECT_THAT(message(with({NAN}, {1})), testing::HasSubstr("no rectangle"));
  EXPECT_THAT(message(with({0.1f}, {1, 2})),
              testing::AllOf(testing::HasSubstr("'labels' has 2 elements"), testing::HasSubstr("1 boxes")));
}

TEST(Annotations, MistakesInTheJobAreNamed) {
  const auto errors = [](const v1::JobSpec& job) { return std::string(Pipeline::Create(job).status().message()); };
  const std::string base =
      "features { key: 'image/encoded' column: 'image' type: BYTES } features { key: 'label' type: INT64 }"
      "features { key: 'mask' type: BYTES } ops { column: 'mask' decode_image { } }";
  const std::string decode = "ops { decode_image { } } ops { resize { height: 8 width: 8 } }";
  const std::pair<std::string, std::string> cases[] = {
      {"annotations { boxes { } }", "annotations.image: column 'image' has no decode_image"},
      {decode + "annotations { image: 'x' }", "annotations.image: there is no column 'x'"},
      {decode + "annotations { masks: 'x' }", "annotations.masks[0]: there is no column 'x'"},
      {decode + "annotations { masks: 'mask' }", "annotations.masks[0]: column 'mask' needs"},
      {decode + "annotations { masks: 'image' }", "is the image"},
      {decode + "annotations { boxes { column: 'label' } }", "annotations.boxes.column"},
      {decode + "annotations { boxes { companions: 'label' } }", "annotations.boxes.companions[0]: column 'label' is"},
      {decode + "annotations { boxes { companions: 'y' } }", "annotations.boxes.companions[0]: there is no"},
      {decode + "annotations { boxes { min_visible: 2 } }", "annotations.boxes.min_visible"},
      {decode + "annotations { boxes { min_area: -1 } }", "annotations.boxes.min_area"},
      {"ops { decode_image { } } ops { five_crop { height: 8 width: 8 } } annotations { boxes { } }", "five_crop"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_THAT(errors(ParseJob(base + text)), testing::HasSubstr(wanted)) << text;
  EXPECT_THAT(errors(Job(kResizeAll, "", "ops { column: 'mask' resize { height: 3 width: 3 } }")),
              testing::HasSubstr("column 'mask' is a mask"));
}

TEST(Annotations, ArePartOfTheFingerprint) {
  const auto fingerprint = [](const std::string& boxes) {
    return BuildPipeline(Job(kResizeAll, boxes))->fingerprint();
  };
  EXPECT_EQ(fingerprint(""), fingerprint(""));
  EXPECT_NE(fingerprint(""), fingerprint("min_visible: 0.5"));
  EXPECT_NE(fingerprint(""), fingerprint("pixels: true"));
}

}  // namespace
}  // namespace penstock::augment
