// States of running jobs contain the pipeline's fingerprint. These values are those of earlier releases: a job whose
// bytes did not change keeps its value, so that its states resume.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/conformance.h"
#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {
namespace {

const std::string kImage = "features { key: 'image/encoded' column: 'image' type: BYTES } ";
const std::string kLabel = "features { key: 'image/class/label' column: 'label' type: INT64 } ";
const std::string kMask = "features { key: 'mask' type: BYTES } ";
const std::string kDecode = "ops { decode_image { } } ";
const std::string kGoldenResize = "ops { resize { height: 32 width: 40 } } ";
const std::string kDecodeMask = "ops { column: 'mask' decode_image { channels: GRAY } } ";

std::string FingerprintOf(const std::string& job) {
  return absl::StrCat(absl::Hex(BuildPipeline(ParseJob(job))->fingerprint(), absl::kZeroPad16));
}

TEST(PipelineFingerprint, MatchesEarlierReleasesForJobsWithoutMasksAndBilinearWarps) {
  const std::pair<std::string, const char*> jobs[] = {
      {kImage + kLabel + kDecode +
           "ops { random_resized_crop { height: 224 width: 224 } } ops { random_horizontal_flip { } } "
           "ops { normalize { preset: 'imagenet' } } order { seed: 17 } batch { size: 256 }",
       "fdcd04f81ea6e8f1"},
      {kImage + kLabel + kDecode +
           "ops { resize { shorter_side: 256 filter: BICUBIC } } "
           "ops { center_crop { height: 224 width: 224 } } ops { cast { to: FLOAT16 } } "
           "errors { policy: MASK } batch { size: 64 last: PAD }",
       "bb98d0f601b14538"},
      {kLabel + "features { key: 'x' type: FLOAT shape: 3 } features { key: 'ids' type: INT64 variable_length: true } "
                "features { key: 'raw' type: BYTES decode_raw: UINT8 shape: 4 } ops { column: 'label' one_hot { "
                "classes: 10 smoothing: 0.1 } }",
       "66b37b1f4bb4fbeb"},
      {kImage + kDecode +
           "ops { rotate { min_degrees: -10 max_degrees: 10 filter: NEAREST } } "
           "ops { affine { max_degrees: 20 scale_min: 0.5 filter: NEAREST fill: 7 } } "
           "ops { perspective { filter: NEAREST } } " +
           kGoldenResize,
       "53c327bb3dd8f9e6"},
      {kImage + kDecode + kGoldenResize +
           "ops { rand_augment { filter: NEAREST } } ops { trivial_augment_wide { filter: NEAREST fill: 128 } } "
           "ops { auto_augment { filter: NEAREST } } ops { augmix { filter: NEAREST } }",
       "b31f236b12e0425a"},
      {kImage + kDecode +
           "ops { random_apply { ops { color_jitter { brightness: 0.4 } } ops { one_of { ops { invert { } } ops { "
           "gaussian_blur { kernel_size: 5 } } } } } } ops { random_crop { height: 20 width: 20 padding: 4 fill: 9 "
           "pad_if_needed: true mode: REFLECT } } ops { pad { left: 2 fill: 3 } } " +
           kGoldenResize,
       "ae3fcb83fdf995a2"},
      {kImage + "features { key: 'image/object/class/label' column: 'labels' type: INT64 variable_length: true } " +
           kDecode + "ops { zoom_out { fill: 5 } } " + kGoldenResize +
           "annotations { boxes { companions: 'labels' min_visible: 0.2 } }",
       "8e9154a09af0addd"},
      {kImage + kLabel + kDecode + kGoldenResize + "mix { mixup_alpha: 0.2 classes: 10 }", "b099344a0ad15e61"},
  };
  for (const auto& [job, fingerprint] : jobs) EXPECT_EQ(FingerprintOf(job), fingerprint) << job;
}

// These jobs have new values: masks read palettes as class numbers, and BILINEAR warps are exact where coordinates are
// whole.
TEST(PipelineFingerprint, DiffersFromEarlierReleasesForJobsWithMasksOrBilinearWarps) {
  const std::pair<std::string, const char*> jobs[] = {
      {kImage + kMask + kDecode + kGoldenResize + kDecodeMask + "annotations { masks: 'mask' }", "a0339c6a060fa0e9"},
      {kImage + kDecode + "ops { rotate { max_degrees: 10 } } " + kGoldenResize, "5dbe9950318bf1d8"},
      {kImage + kDecode + "ops { affine { max_degrees: 20 } } " + kGoldenResize, "af96da14b0179f76"},
      {kImage + kDecode + "ops { perspective { } } " + kGoldenResize, "d08761f9e1c15407"},
      {kImage + kDecode + kGoldenResize + "ops { rand_augment { } }", "7cb26083fe4fae75"},
      {kImage + kDecode + kGoldenResize + "ops { trivial_augment_wide { } }", "fd4a2b761ae6f05a"},
      {kImage + kDecode + kGoldenResize + "ops { auto_augment { } }", "30a5bc730eaecbba"},
      {kImage + kDecode + kGoldenResize + "ops { augmix { } }", "d399bdd26bce18f1"},
      {kImage + kDecode + kGoldenResize +
           "ops { one_of { ops { invert { } } ops { random_apply { ops { rotate { max_degrees: 10 } } } } } }",
       "1baac324f568df15"},
  };
  for (const auto& [job, earlier] : jobs) EXPECT_NE(FingerprintOf(job), earlier) << job;
}

// The digest is part of each job's fingerprint on the wire. If it changed, no saved state would resume.
// The value is that of Debian 12's libraries.
TEST(PipelineFingerprint, TheArithmeticDigestMatchesEarlierReleases) {
  EXPECT_EQ(ConformanceDigest(), "47f0ff30e9ff87c5");
}

}  // namespace
}  // namespace penstock::augment
