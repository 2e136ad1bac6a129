#include "pipeline/augment/conformance.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/philox.h"
#include "google/protobuf/text_format.h"
#include "pipeline/augment/op/own_op.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/augment/row_plan.h"
#include "pipeline/records/example_builder.h"

namespace penstock::augment {
namespace {

constexpr int kWidth = 97, kHeight = 71;  // no multiples of any vector width

void Append(uint32_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Returns a 24-bit BMP of noise on a slope. It is lossless, so resizing starts from the same pixels everywhere.
std::string MakeImage() {
  const uint32_t stride = (kWidth * 3 + 3) / 4 * 4;
  std::string out = "BM";
  Append(54 + stride * kHeight, 4, &out);
  Append(0, 4, &out);
  Append(54, 4, &out);
  Append(40, 4, &out);
  Append(kWidth, 4, &out);
  Append(kHeight, 4, &out);
  Append(1, 2, &out);
  Append(24, 2, &out);
  for (int i = 0; i < 6; ++i) Append(0, 4, &out);
  SampleRandom random(0x70656e73746f636b, 0, 0);
  for (int y = 0; y < kHeight; ++y) {
    for (uint32_t x = 0; x < stride; ++x) {
      out.push_back(static_cast<char>((x + 2 * static_cast<uint32_t>(y) + random.Below(96)) & 0xff));
    }
  }
  return out;
}

// A 53 x 37 JPEG, 4:2:0, quality 60, optimized tables. It makes the digest depend on the machine's libjpeg.
constexpr char kJpegBase64[] =
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxO"
    "UlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P"
    "T09PT09PT0//wAARCAAlADUDASIAAhEBAxEB/8QAGAABAQEBAQAAAAAAAAAAAAAABAADBQb/xAAkEAABBAICAgEFAAAAAAAAAAAB"
    "AAIDESExQVFhcRITIkKB4f/EABoBAAMBAAMAAAAAAAAAAAAAAAMEBQIBBgf/xAAaEQADAQEBAQAAAAAAAAAAAAAAAQMCESET/9oA"
    "DAMBAAIRAxEAPwDwscFgdjN0tmRU3xW0lkNDIyFu2IB42CP0l3vpxKwVsNm6oDYWzIATuuq5S2RaHxOaWzIhYBHBI7We9KUrBGQi"
    "6HWcrdsNizQ4tLbDdjXYW8cJJ1rjpZeelGdkC+iz8lLpsgJGDVelLPzQ8r+HFZFjOxnC3ZCDsUeAkRQircMeSkNhA2N+ELO+nncr"
    "GEcIujQ9FbCHHfNJLIcawMZSGRNNAGvfaPn0flYLHFWMkJDYftqktkORzZGNLaOK9DNX7KPnPSjKwQRUMi1LpNhNWKHtSN8ujise"
    "fZGATWNaW7YgH/E5wpShzb6dEk2KijDpCNeedpEYAlLKz2pSdwPybEsjHxFE5srdkYuu/wCqUn5lDD9ECJtVlSlJpIdw28pn/9k=";

std::string JpegImage() {
  std::string jpeg;
  PS_CHECK(absl::Base64Unescape(kJpegBase64, &jpeg));
  return jpeg;
}

v1::JobSpec MakeJob(v1::ResizeMethod method, v1::Filter filter, v1::DataType to, bool crop) {
  v1::JobSpec job;
  job.set_name("conformance");
  v1::Feature* feature = job.add_features();
  feature->set_key("image");
  feature->set_type(v1::Feature::BYTES);
  job.add_ops()->mutable_decode_image();
  if (crop) {
    v1::RandomResizedCrop* op = job.add_ops()->mutable_random_resized_crop();
    op->set_height(33);
    op->set_width(41);
    op->set_resize(method);
    op->set_filter(filter);
  } else {
    v1::Resize* op = job.add_ops()->mutable_resize();
    op->set_height(119);
    op->set_width(37);
    op->set_resize(method);
    op->set_filter(filter);
  }
  job.add_ops()->mutable_random_horizontal_flip();
  v1::Normalize* normalize = job.add_ops()->mutable_normalize();
  normalize->set_preset("imagenet");
  normalize->set_to(to);
  return job;
}

// Ops that compute with floats, draw with logarithms and sines, or pass pixels to another library. Each chain follows
// decode_image and ends in uint8 pixels.
constexpr const char* kChains[] = {
    "ops { affine { min_degrees: -15 max_degrees: 15 scale_min: 0.7 scale_max: 1.4 min_shear_x_degrees: -10 "
    "max_shear_x_degrees: 10 } } ops { perspective { probability: 1 } }",
    "ops { rotate { min_degrees: -90 max_degrees: 90 filter: NEAREST } } ops { zoom_out { probability: 1 scale_max: 2 "
    "} }",
    "ops { brightness { min: 0.4 max: 1.7 } } ops { contrast { min: 0.4 max: 1.7 } } ops { sharpness { max: 3 } }",
    "ops { saturation { min: 0.4 max: 1.7 } } ops { hue { min: -0.4 max: 0.4 } } ops { gamma { min: 0.5 max: 2 } }",
    "ops { color_jitter { brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1 } } ops { pca_lighting { } }",
    "ops { gaussian_blur { kernel_size: 9 sigma_max: 3 } } ops { gaussian_noise { sigma_min: 1 sigma_max: 20 } }",
    "ops { jpeg_distortion { quality_min: 10 quality_max: 90 } }",
    "ops { random_erasing { probability: 1 fill: PIXEL } } ops { grid_mask { unit_min: 20 unit_max: 40 "
    "max_rotation_degrees: 45 probability: 1 } }",
    "ops { rand_augment { num_ops: 4 } } ops { trivial_augment_wide { filter: NEAREST } } ops { augmix { } }",
};

v1::JobSpec ChainJob(const std::string& chain) {
  v1::JobSpec job;
  PS_CHECK(
      google::protobuf::TextFormat::ParseFromString("features { key: 'image' type: BYTES } ops { decode_image { } } " +
                                                        chain + " ops { resize { height: 71 width: 97 resize: PIL } }",
                                                    &job));
  return job;
}

// Adds the rows that a job makes from each record with several draws.
void AddRows(const v1::JobSpec& job, std::span<const std::string> records, uint64_t draws, RowScratch* scratch,
             Fingerprint* digest) {
  auto pipeline = Pipeline::Create(job);
  PS_CHECK(pipeline.ok());
  std::vector<std::byte> bytes((*pipeline)->schema().FixedBytes());
  for (uint64_t epoch = 0; epoch < draws; ++epoch) {
    const SampleKey key{.seed = 17, .epoch = epoch, .repeat = 0, .record_id = 5 + epoch};
    for (const std::string& record : records) {
      batch::RowSlot slot;
      slot.fixed = {bytes.data()};
      slot.ragged.resize(1);
      PS_CHECK((*pipeline)->MakeRow(record, key, &slot, scratch).ok());
      digest->Add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
  }
}

std::string Compute() {
  const std::string records[] = {records::ExampleBuilder().Bytes("image", MakeImage()).Serialize(),
                                 records::ExampleBuilder().Bytes("image", JpegImage()).Serialize()};
  struct Case {
    v1::ResizeMethod method;
    v1::Filter filter;
    v1::DataType to;
  };
  const std::vector<Case> cases = {
      {v1::PIL, v1::BILINEAR, v1::FLOAT32},           {v1::PIL, v1::BICUBIC, v1::FLOAT16},
      {v1::PIL, v1::LANCZOS, v1::BFLOAT16},           {v1::PIL, v1::HAMMING, v1::FLOAT32},
      {v1::OPENCV_LINEAR, v1::BILINEAR, v1::FLOAT16}, {v1::OPENCV_AREA, v1::BILINEAR, v1::BFLOAT16},
      {v1::TF_BILINEAR, v1::BILINEAR, v1::FLOAT32},
  };
  Fingerprint digest;
  RowScratch scratch;
  // The digest is part of every job's fingerprint, even of jobs without warps. So it keeps the sampling of earlier
  // releases, which uses the same computation except for one rounding.
  scratch.impl().tools.bilinear = image::WarpSampling::kBilinearDown;
  for (const Case& each : cases) {
    for (const bool crop : {false, true}) {
      AddRows(MakeJob(each.method, each.filter, each.to, crop), records, 4, &scratch, &digest);
    }
  }
  for (const char* chain : kChains) AddRows(ChainJob(chain), records, 2, &scratch, &digest);
  // Other installations may lack an own op or have another version of it.
  for (const OwnOpVersion& op : RegisteredOwnOps()) digest.Add(op.name).Add(op.version);
  return absl::StrCat(absl::Hex(digest.value(), absl::kZeroPad16));
}

}  // namespace

const std::string& ConformanceDigest() {
  static const auto* digest = new std::string(Compute());
  return *digest;
}

uint64_t JobPipelineFingerprint(const SetPipelines& pipelines) {
  return Fingerprint().Add(pipelines.fingerprint()).Add(ConformanceDigest()).value();
}

}  // namespace penstock::augment
