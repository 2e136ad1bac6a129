// Boxes through the loader: the rows are the same with any number of threads, and with caches.
#include <gtest/gtest.h>

#include <string>

#include "pipeline/loader/local_reader.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock {
namespace {

struct AnnotatedRows {
  std::string digest;
  uint64_t rows = 0, boxes = 0;
};

AnnotatedRows ReadAll(const TestDataset& set, int threads, uint64_t cache) {
  LocalReaderOptions options;
  options.threads = threads;
  options.epochs = 2;
  options.memory_budget_bytes = 16 << 20;
  options.record_cache_bytes = options.decoded_cache_bytes = cache;
  auto reader = LocalReader::Open(LocalFiles(), set.job, set.roots, options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  AnnotatedRows rows;
  BatchDigest digest;
  while (reader.ok()) {
    auto batch = (*reader)->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    (*batch)->AddTo(&digest);
    for (size_t i = 0; i < (*batch)->size(); ++i) {
      const size_t labels = (*batch)->Ragged(1, i).size(), boxes = (*batch)->Ragged(3, i).size();
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
  const AnnotatedRows plain = ReadAll(set, 1, 0);
  EXPECT_EQ(plain.rows, 80u);
  EXPECT_GT(plain.boxes, 20u);
  EXPECT_EQ(ReadAll(set, 3, 0).digest, plain.digest);
  EXPECT_EQ(ReadAll(set, 2, 4'000'000).digest, plain.digest);
}

}  // namespace
}  // namespace penstock
