// Small data sets in a temporary folder, with a job file that reads them.
#ifndef PENSTOCK_TESTS_SUPPORT_TEST_DATASET_H_
#define PENSTOCK_TESTS_SUPPORT_TEST_DATASET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"
#include "pipeline/sources/compression.h"
#include "pipeline/sources/dataset_files.h"
#include "tests/support/temp_folder.h"

namespace penstock::support {

struct TestDataset {
  std::string glob;                      // absolute
  std::vector<std::string> files;        // absolute, in shard order
  std::vector<sources::DataRoot> roots;  // one root, named "data": the folder
  uint64_t records = 0;
  // Ready to use: name, data set, features, ops, order (seed 17, CHUNKED with chunks of 4 in windows of 8, so that
  // small sets are shuffled), batch of 8 (DROP), policy FAIL. A test changes only its own subject.
  v1::JobSpec job;
};

struct ImageDatasetOptions {
  int shards = 3;
  int records_per_shard = 20;
  int width = 64;  // width of the largest image; each image is up to a quarter smaller, by its number
  int height = 48;
  int classes = 10;  // records are sorted by class, like real data sets
  int quality = 90;
  sources::Compression compression = sources::Compression::kNone;
  uint64_t seed = 1;
  // The size of the job's random_resized_crop. A flip follows it.
  int crop = 32;
  v1::ResizeMethod resize = v1::OPENCV_LINEAR;
  bool tar = false;  // uncompressed tar shards, whose samples have the members jpg and cls
};

// Records with "image/encoded" (a JPEG), "image/class/label" (int64), "image/filename" (bytes) and "image/boxes"
// (floats, 4 for each of 0 to 3 boxes). The job's columns: image (uint8 crop x crop x 3), label (int64 scalar). The
// files are data-00000 ... in `folder`, which must exist.
TestDataset MakeImageDataset(const ImageDatasetOptions& options, const std::string& folder);

struct NumberDatasetOptions {
  int shards = 4;
  int records_per_shard = 50;
  sources::Compression compression = sources::Compression::kNone;
  int max_values = 5;
  uint64_t seed = 1;
};

// Tiny records without images: "id" (int64: the record's number in the data set), "values" (0 to max_values floats),
// "name" (bytes, "record-<id>"), "weight" (float, id / 8). The job's columns: id (int64 scalar), values (ragged
// float32), name (string scalar), weight (float32 scalar).
TestDataset MakeNumberDataset(const NumberDatasetOptions& options, const std::string& folder);

// One shard of 40 images with 0 to 3 boxes in ImageNet's keys, their labels, and a mask. The job rotates, crops and
// mirrors; its columns: image (uint8 32 x 32 x 3), labels (ragged int64), mask (uint8 32 x 32 x 1), boxes (ragged
// float32, 4 each).
TestDataset MakeDetectionDataset(const std::string& folder);

// Returns a JPEG like those of MakeImageDataset. `number` determines its content.
std::string MakeTestJpeg(int width, int height, uint64_t number, int quality = 90);

// Changes one byte of the file: `offset` counts from its start, or from its end if it is negative.
void FlipByte(const std::string& path, int64_t offset);

// Changes one byte in the middle of record `record` of a plain (uncompressed) shard. The CRC of a TFRecord or the index
// of a tar archive detects it.
void BreakRecord(const std::string& path, uint64_t record);

// Writes `records` as one TFRecord file.
void WriteShard(const std::string& path, const std::vector<std::string>& records,
                sources::Compression compression = sources::Compression::kNone);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_TEST_DATASET_H_
