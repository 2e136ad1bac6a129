// Boxes through the loader: the same rows with any number of threads, and with caches.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "pipeline/loader/local_reader.h"
#include "pipeline/records/example_builder.h"
#include "tests/support/test_dataset.h"

namespace penstock {
namespace {

TestDataset MakeDetectionDataset(const std::string& folder) {
  TestDataset set = MakeImageDataset({.shards = 1, .records_per_shard = 1}, folder);
  std::vector<std::string> records;
  for (uint64_t i = 0; i < 40; ++i) {
    std::vector<float> low, high;
    std::vector<int64_t> labels;
    for (uint64_t b = 0; b < i % 4; ++b) {
      low.push_back(0.1f * static_cast<float>(b + i % 5));
      high.push_back(low.back() + 0.2f);
      labels.push_back(static_cast<int64_t>(100 * i + b));
    }
    records.push_back(ExampleBuilder()
                          .Bytes("image/encoded", MakeTestJpeg(60, 44, i))
                          .FloatList("image/object/bbox/xmin", low)
                          .FloatList("image/object/bbox/ymin", low)
                          .FloatList("image/object/bbox/xmax", high)
                          .FloatList("image/object/bbox/ymax", high)
                          .Int64List("image/object/class/label", labels)
                          .Serialize());
  }
  WriteShard(set.files[0], records);
  set.job.clear_features();
  set.job.clear_ops();
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "features { key: 'image/encoded' column: 'image' type: BYTES }"
      "features { key: 'image/object/class/label' column: 'labels' type: INT64 variable_length: true }"
      "ops { decode_image { } } ops { resize { shorter_side: 40 } } ops { rotate { min_degrees: -20 max_degrees: 20 } }"
      "ops { random_resized_crop { height: 32 width: 32 } } ops { random_horizontal_flip { } }"
      "annotations { boxes { companions: 'labels' min_visible: 0.2 } }",
      &set.job));
  return set;
}

struct Rows {
  std::string digest;
  uint64_t rows = 0, boxes = 0;
};

Rows ReadAll(const TestDataset& set, int threads, uint64_t cache) {
  LocalReaderOptions options;
  options.threads = threads;
  options.epochs = 2;
  options.memory_budget_bytes = 16 << 20;
  options.record_cache_bytes = options.decoded_cache_bytes = cache;
  auto reader = LocalReader::Open(set.job, set.roots, options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  Rows rows;
  BatchDigest digest;
  while (reader.ok()) {
    auto batch = (*reader)->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    (*batch)->AddTo(&digest);
    for (size_t i = 0; i < (*batch)->size(); ++i) {
      const size_t labels = (*batch)->Ragged(1, i).size(), boxes = (*batch)->Ragged(2, i).size();
      EXPECT_EQ((labels - 4) / 8, (boxes - 4) / 16);
      rows.boxes += (boxes - 4) / 16;
    }
  }
  rows.digest = digest.Hex();
  rows.rows = digest.rows();
  return rows;
}

TEST(AnnotatedReader, BoxesAreTheSameWithAnyThreadsAndCaches) {
  TempFolder folder;
  const TestDataset set = MakeDetectionDataset(folder.path());
  const Rows plain = ReadAll(set, 1, 0);
  EXPECT_EQ(plain.rows, 80u);
  EXPECT_GT(plain.boxes, 20u);
  EXPECT_EQ(ReadAll(set, 3, 0).digest, plain.digest);
  EXPECT_EQ(ReadAll(set, 2, 4'000'000).digest, plain.digest);
}

}  // namespace
}  // namespace penstock
