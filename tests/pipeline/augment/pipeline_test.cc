#include "pipeline/augment/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/png/png_maker.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::augment {
namespace {

using ::testing::HasSubstr;

constexpr char kTrain[] =
    "ops { decode_image { channels: RGB } }"
    "ops { random_resized_crop { height: 48 width: 40 } }"
    "ops { random_horizontal_flip { probability: 0.5 } }";
constexpr char kEvaluate[] =
    "ops { decode_image { } }"
    "ops { resize { shorter_side: 64 } }"
    "ops { center_crop { height: 56 width: 56 } }";

std::string Photo(int width = 180, int height = 131, uint32_t seed = 1) {
  return image::MakeJpeg({.width = width, .height = height, .horizontal = 2, .vertical = 2, .seed = seed});
}

std::vector<uint8_t> ImageOf(const Pipeline& pipeline, const std::string& record, const SampleKey& key) {
  OwnedRow row(pipeline.schema());
  RowScratch scratch;
  const absl::Status status = pipeline.MakeRow(record, key, &row.slot, &scratch);
  EXPECT_TRUE(status.ok()) << status;
  return row.As<uint8_t>(0);
}

TEST(Pipeline, TheSchemaHasTheFinalTypeAndShapeOfEachColumn) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  batch::RowSchema expected;
  expected.columns.push_back({"image", batch::DType::kUint8, false, {48, 40, 3}, false});
  expected.columns.push_back({"label", batch::DType::kInt64, false, {}, false});
  EXPECT_EQ(pipeline->schema(), expected);
}

TEST(Pipeline, ARowDependsOnlyOnRecordAndKey) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  const std::string record = ImageRecord(Photo());
  const SampleKey key{.seed = 1, .epoch = 2, .repeat = 0, .record_id = 99};
  const std::vector<uint8_t> first = ImageOf(*pipeline, record, key);
  EXPECT_EQ(first, ImageOf(*BuildPipeline(ImageJob(kTrain)), record, key));
  for (const SampleKey& other : {SampleKey{2, 2, 0, 99}, {1, 3, 0, 99}, {1, 2, 1, 99}, {1, 2, 0, 98}}) {
    EXPECT_NE(first, ImageOf(*pipeline, record, other));
  }
}

TEST(Pipeline, ScratchOfOtherRowsChangesNothing) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  RowScratch scratch;
  for (int i = 0; i < 20; ++i) {
    const std::string record = ImageRecord(Photo(20 + 37 * i % 300, 20 + 91 * i % 200), i);
    const SampleKey key{.record_id = static_cast<uint64_t>(i)};
    OwnedRow row(pipeline->schema());
    ASSERT_TRUE(pipeline->MakeRow(record, key, &row.slot, &scratch).ok());
    EXPECT_EQ(row.As<uint8_t>(0), ImageOf(*pipeline, record, key));
    EXPECT_EQ(row.As<int64_t>(1), std::vector<int64_t>{i});
  }
}

// Compares the fused step byte for byte with decoding everything and then running the ops on pixels.
TEST(Pipeline, RowsFromDecodedImagesEqualRowsFromRecords) {
  const std::string resizes[] = {"",
                                 "resize: OPENCV_LINEAR",
                                 "resize: OPENCV_AREA",
                                 "resize: TF_BILINEAR",
                                 "resize: TF_BILINEAR no_antialias: true",
                                 "filter: BICUBIC",
                                 "filter: LANCZOS",
                                 "filter: NEAREST",
                                 "filter: BOX",
                                 "filter: HAMMING"};
  std::vector<std::string> jobs = {
      kTrain,
      kEvaluate,
      "ops { decode_image { } } ops { resize { height: 30 width: 70 } }",
      "ops { decode_image { } } ops { resize { longer_side: 90 } } ops { center_crop { height: 100 width: 40 } }",
      "ops { decode_image { } } ops { center_crop { height: 100 width: 100 } } ops { random_horizontal_flip { } }",
      "ops { decode_image { } } ops { random_horizontal_flip { } } ops { resize { shorter_side: 50 } } "
      "ops { center_crop { height: 50 width: 50 } }",
      "ops { decode_image { } } ops { resize { shorter_side: 70 } } ops { random_horizontal_flip { } } "
      "ops { center_crop { height: 51 width: 31 } } ops { random_resized_crop { height: 20 width: 20 } }",
      "ops { decode_image { channels: GRAY } } ops { random_resized_crop { height: 33 width: 21 } } "
      "ops { random_horizontal_flip { } }",
      "ops { decode_image { apply_exif_orientation: true } } ops { random_resized_crop { height: 30 width: 30 } } "
      "ops { normalize { preset: 'imagenet' to: FLOAT16 channels_first: true } }",
  };
  for (const std::string& resize : resizes) {
    jobs.push_back("ops { decode_image { } } ops { random_resized_crop { height: 40 width: 50 " + resize +
                   " } } ops { random_horizontal_flip { } }");
  }
  std::vector<std::string> images = {
      Photo(),
      Photo(64, 200),
      Photo(17, 17),
      Photo(1, 1),
      Photo(300, 3),
      image::MakeJpeg({.width = 90, .height = 77, .components = 4}),
      image::MakeJpeg({.width = 90, .height = 77, .components = 1}),
      image::MakeJpeg({.width = 131, .height = 77, .horizontal = 2, .vertical = 1, .progressive = true})};
  if (const auto folder = image::ReferenceFolder()) {
    for (const std::string name : {"exif_rotated.jpg", "palette.png", "lossless.webp", "cmyk.jpg", "thin.jpg"}) {
      images.push_back(image::ReadBytes(*folder + "/odd/" + name));
    }
  }
  RowScratch scratch;
  for (const std::string& ops : jobs) {
    const auto pipeline = BuildPipeline(ImageJob(ops));
    ASSERT_TRUE(pipeline->HasDecodedPrefix()) << ops;
    for (size_t i = 0; i < images.size(); ++i) {
      const std::string record = ImageRecord(images[i], 5);
      const auto decoded = pipeline->MakeDecoded(record, &scratch);
      ASSERT_TRUE(decoded.ok()) << ops << decoded.status();
      for (uint64_t draw = 0; draw < 3; ++draw) {
        const SampleKey key{.seed = 3, .epoch = draw, .record_id = i};
        OwnedRow plain(pipeline->schema()), warm(pipeline->schema());
        const absl::Status made = pipeline->MakeRow(record, key, &plain.slot, &scratch);
        ASSERT_TRUE(made.ok()) << made;
        const absl::Status cached = pipeline->MakeRowFromDecoded(record, *decoded, key, &warm.slot, &scratch);
        ASSERT_TRUE(cached.ok()) << cached;
        ASSERT_EQ(plain.memory, warm.memory) << ops << " image " << i;
      }
    }
  }
}

TEST(Pipeline, TheDecodedPrefixStopsBeforeTheFirstDraw) {
  const std::string record = ImageRecord(Photo(200, 100));
  RowScratch scratch;
  const auto train = BuildPipeline(ImageJob(kTrain))->MakeDecoded(record, &scratch);
  ASSERT_TRUE(train.ok());
  EXPECT_EQ(train->size(), 16u + 200 * 100 * 3);
  const auto evaluate = BuildPipeline(ImageJob(kEvaluate))->MakeDecoded(record, &scratch);
  ASSERT_TRUE(evaluate.ok());
  EXPECT_EQ(evaluate->size(), 16u + 56 * 56 * 3);
}

TEST(Pipeline, ADamagedDecodedImageIsRejected) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  const std::string record = ImageRecord(Photo());
  RowScratch scratch;
  const std::string decoded = *pipeline->MakeDecoded(record, &scratch);
  OwnedRow row(pipeline->schema());
  for (const std::string& bad :
       {std::string(), decoded.substr(0, 10), decoded.substr(0, decoded.size() - 1), "x" + decoded}) {
    EXPECT_FALSE(pipeline->MakeRowFromDecoded(record, bad, {}, &row.slot, &scratch).ok());
  }
}

TEST(Pipeline, ErrorsNameTheOpAndTheCause) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string photo = Photo();
  const auto error = [&](const std::string& record) {
    return std::string(pipeline->MakeRow(record, {}, &row.slot, &scratch).message());
  };
  EXPECT_THAT(error(ImageRecord("no image")), HasSubstr("ops[0].decode_image (column 'image')"));
  EXPECT_THAT(error(ImageRecord(photo.substr(0, photo.size() / 8))),
              HasSubstr("ops[0].decode_image (column 'image'): libjpeg: "));
  EXPECT_THAT(error(""), HasSubstr("features[0] (key 'image/encoded'): missing"));
  EXPECT_FALSE(pipeline->MakeRow("garbage that is no Example", {}, &row.slot, &scratch).ok());
}

TEST(Pipeline, LenientRowsOfDamagedImagesAreFlagged) {
  const auto pipeline =
      BuildPipeline(ImageJob("ops { decode_image { lenient: true } } ops { resize { height: 50 width: 50 } }"));
  const std::string photo = Photo();
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string cut = ImageRecord(photo.substr(0, photo.size() * 3 / 4));
  ASSERT_TRUE(pipeline->MakeRow(cut, {}, &row.slot, &scratch).ok());
  EXPECT_TRUE(row.slot.lenient);
  EXPECT_FALSE(pipeline->MakeDecoded(cut, &scratch).ok());  // a cache holds no damaged image
  ASSERT_TRUE(pipeline->MakeRow(ImageRecord(photo), {}, &row.slot, &scratch).ok());
  EXPECT_FALSE(row.slot.lenient);
}

// A PNG with sound chunks, whose encoder wrote invalid data after the first rows.
std::string PngWithWrongRowsBelow(uint32_t width, uint32_t height) {
  std::string rows;
  for (uint32_t y = 0; y < height; ++y) {
    rows.push_back(y < height / 2 ? '\0' : '\7');  // no filter has number 7
    for (uint32_t i = 0; i < 3 * width; ++i) rows.push_back(static_cast<char>(i * 5 + y * 3));
  }
  return image::WrapPng(image::PngHeader(width, height, 2, 8, false), image::ZlibStream(rows, 6), 4000);
}

TEST(Pipeline, AWholeImageCheckFindsDamageOutsideTheCropInEachEpoch) {
  const std::string crop =
      "ops { decode_image { } } ops { random_resized_crop { height: 24 width: 24 scale_min: 0.02 scale_max: 0.2 } }";
  const std::string check = "errors { policy: MASK check: WHOLE_IMAGE }";
  const auto wanted = BuildPipeline(ImageJob(crop)), whole = BuildPipeline(ImageJob(crop + check));
  EXPECT_EQ(wanted->fingerprint(), whole->fingerprint());
  const std::string photo = Photo();
  const std::pair<const char*, std::string> damaged[] = {
      {"a JPEG that is cut off", photo.substr(0, photo.size() / 2)},
      {"a PNG with rows of no filter", PngWithWrongRowsBelow(150, 120)},
  };
  RowScratch scratch;
  const auto good = [&](const Pipeline& pipeline, const std::string& image, OwnedRow* row, uint64_t epoch) {
    return pipeline.MakeRow(ImageRecord(image), {.epoch = epoch}, &row->slot, &scratch).ok();
  };
  OwnedRow row(wanted->schema()), same(wanted->schema());
  for (const auto& [what, image] : damaged) {
    int by_crop = 0, by_image = 0;
    for (uint64_t epoch = 0; epoch < 60; ++epoch) {
      by_crop += good(*wanted, image, &row, epoch);
      by_image += good(*whole, image, &row, epoch);
    }
    EXPECT_GT(by_crop, 0) << what;
    EXPECT_LT(by_crop, 60) << what;
    EXPECT_EQ(by_image, 0) << what;
  }
  const std::vector<uint8_t> pixels = image::MakePixels(150, 120, 3, 4);
  const std::string sound[] = {photo, image::MakeJpeg({.width = 90, .height = 140, .progressive = true}),
                               *image::EncodePng({pixels.data(), 150, 120, 3, 450})};
  for (const std::string& image : sound) {
    for (uint64_t epoch = 0; epoch < 20; ++epoch) {
      ASSERT_TRUE(good(*wanted, image, &row, epoch));
      ASSERT_TRUE(good(*whole, image, &same, epoch));
      EXPECT_EQ(row.memory, same.memory);
      EXPECT_LE(scratch.held_bytes(), whole->ScratchBytes(ImageRecord(image)));
    }
  }
}

TEST(Pipeline, EnforcesTheLimitsOfTheJob) {
  v1::JobSpec job = ImageJob(kTrain);
  job.mutable_limits()->set_max_image_pixels(1000);
  const auto pipeline = BuildPipeline(job);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status status = pipeline->MakeRow(ImageRecord(Photo()), {}, &row.slot, &scratch);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ops[0].decode_image"));
}

TEST(Pipeline, ScratchBytesFromTheHeaderBoundTheUsedMemory) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  EXPECT_LT(pipeline->ScratchBytes("garbage"), size_t{1} << 20);
  EXPECT_LT(pipeline->ScratchBytes(ImageRecord("no image")), size_t{1} << 20);
  for (const auto& [width, height] : {std::pair{16, 16}, {500, 375}, {1200, 900}}) {
    const std::string record = ImageRecord(Photo(width, height));
    const size_t booked = pipeline->ScratchBytes(record);
    for (uint64_t draw = 0; draw < 20; ++draw) {
      RowScratch scratch;
      OwnedRow row(pipeline->schema());
      ASSERT_TRUE(pipeline->MakeRow(record, {.epoch = draw}, &row.slot, &scratch).ok());
      EXPECT_LE(scratch.held_bytes(), booked);
    }
    // The bytes are proportional to the image, not to the limits.
    EXPECT_LT(booked, size_t{2} << 20 | static_cast<size_t>(width * height * 12));
  }
}

// Lists of values with the shortest encodings: integers of one byte, and empty strings of two.
TEST(Pipeline, ScratchBytesBoundTheValuesOfSmallRecordsWithoutSteps) {
  v1::JobSpec job;
  v1::Feature* const ints = job.add_features();
  ints->set_key("i");
  ints->set_type(v1::Feature::INT64);
  ints->set_variable_length(true);
  v1::Feature* const words = job.add_features();
  words->set_key("w");
  words->set_type(v1::Feature::BYTES);
  words->set_variable_length(true);
  const auto pipeline = BuildPipeline(job);
  for (const size_t size : {0, 1, 100, 2100, 4000, 5000, 70'000}) {
    for (const size_t of_ints : {size_t{0}, size / 2, size}) {
      const std::vector<int64_t> numbers(of_ints, 1);
      const std::vector<std::string_view> empty((size - of_ints) / 2, "");
      const std::string record = records::ExampleBuilder().Int64List("i", numbers).BytesList("w", empty).Serialize();
      RowScratch scratch;
      OwnedRow row(pipeline->schema());
      ASSERT_TRUE(pipeline->MakeRow(record, {}, &row.slot, &scratch).ok());
      EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record)) << size << " with " << of_ints << " integers";
    }
  }
}

TEST(Pipeline, ScratchStopsGrowingInTheSteadyState) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  const std::string record = ImageRecord(Photo(400, 300));
  RowScratch scratch;
  OwnedRow row(pipeline->schema());
  for (uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(pipeline->MakeRow(record, {.epoch = i}, &row.slot, &scratch).ok());
  const size_t held = scratch.held_bytes();
  for (uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(pipeline->MakeRow(record, {.epoch = i}, &row.slot, &scratch).ok());
  EXPECT_EQ(scratch.held_bytes(), held);
  scratch.Clear();
  EXPECT_LT(scratch.held_bytes(), held / 4);
}

TEST(Pipeline, ManyThreadsMakeTheSameRows) {
  const auto pipeline = BuildPipeline(ImageJob(kTrain));
  const std::string record = ImageRecord(Photo());
  std::vector<std::vector<uint8_t>> expected;
  for (uint64_t i = 0; i < 8; ++i) expected.push_back(ImageOf(*pipeline, record, {.record_id = i}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(ImageOf(*pipeline, record, {.record_id = i}), expected[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Pipeline, TheFingerprintDependsOnWhatChangesBytes) {
  const uint64_t train = BuildPipeline(ImageJob(kTrain))->fingerprint();
  EXPECT_EQ(train, BuildPipeline(ImageJob(kTrain))->fingerprint());
  EXPECT_NE(train, BuildPipeline(ImageJob(kEvaluate))->fingerprint());
  v1::JobSpec job = ImageJob(kTrain);
  job.mutable_batch()->set_size(17);
  job.mutable_order()->set_seed(5);
  EXPECT_EQ(train, BuildPipeline(job)->fingerprint());
  job.mutable_ops(1)->set_name("crop");
  EXPECT_NE(train, BuildPipeline(job)->fingerprint());
}

TEST(Pipeline, ANamedOpKeepsItsDrawsWhenOtherOpsAreAdded) {
  const std::string named = "ops { name: 'c' random_resized_crop { height: 32 width: 32 } }";
  const std::string record = ImageRecord(Photo());
  const SampleKey key{.seed = 4, .record_id = 3};
  const auto before = BuildPipeline(ImageJob("ops { decode_image { } }" + named));
  const auto after =
      BuildPipeline(ImageJob("ops { decode_image { } } ops { random_horizontal_flip { probability: 0 } }" + named));
  EXPECT_EQ(ImageOf(*before, record, key), ImageOf(*after, record, key));
}

// Pins the bytes: a change here changes every running job and needs a new arithmetic version.
TEST(Pipeline, GoldenRows) {
  const std::string record = ImageRecord(Photo());
  const auto digest = [&](const std::string& ops) {
    const auto pipeline = BuildPipeline(ImageJob(ops));
    const std::vector<uint8_t> image = ImageOf(*pipeline, record, {.seed = 17, .epoch = 1, .record_id = 42});
    return Hash64(std::string_view(reinterpret_cast<const char*>(image.data()), image.size()));
  };
  EXPECT_EQ(digest(kTrain), 13155048684717110497u);
  EXPECT_EQ(digest(kEvaluate), 16868459500634912800u);
  EXPECT_EQ(digest(std::string(kEvaluate) + "ops { normalize { preset: 'clip' to: BFLOAT16 } }"), 8530739580006731738u);
}

}  // namespace
}  // namespace penstock::augment
