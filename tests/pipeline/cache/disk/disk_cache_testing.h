// A disk cache in a temporary folder, on a clock that the test moves.
#ifndef PENSTOCK_TESTS_PIPELINE_CACHE_DISK_DISK_CACHE_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_CACHE_DISK_DISK_CACHE_TESTING_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "tests/base/temp_dir.h"

namespace penstock::cache {

constexpr uint64_t kSpace = 0x1234;
constexpr uint64_t kStep = 10 * DiskSpace::kEntryMemory;

inline std::string Bytes(uint64_t record, size_t size = 1000) {
  std::mt19937_64 random(record);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

class DiskCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<DiskCache> OpenCache(uint64_t limit = 1 << 20) {
    DiskCacheOptions options;
    options.folder = folder();
    options.limit_bytes = limit;
    options.index_bytes = index_bytes_;
    options.index_step = kStep;
    options.queue_bytes = queue_bytes_;
    options.clock = &clock_;
    options.warn = [this](const std::string& text) {
      MutexLock lock(&mutex_);
      warnings_.push_back(text);
    };
    absl::StatusOr<std::shared_ptr<DiskCache>> cache = DiskCache::Open(std::move(options));
    EXPECT_TRUE(cache.ok()) << cache.status();
    return *std::move(cache);
  }
  static std::optional<std::string> Read(DiskCache* cache, uint64_t record, size_t size = 1000,
                                         uint64_t space = kSpace) {
    std::vector<char> room(size + DiskCache::kReadOverhead);
    const auto found = cache->Read({space, record}, static_cast<uint32_t>(size), room.data());
    if (!found.has_value()) return std::nullopt;
    return std::string(*found);
  }
  // Offers records and waits until they are written.
  static void Fill(DiskCache* cache, uint64_t begin, uint64_t end, uint64_t space = kSpace) {
    for (uint64_t record = begin; record < end; ++record) {
      cache->Offer({space, record}, Bytes(record));
      cache->Flush();
    }
  }
  static size_t Held(DiskCache* cache, uint64_t begin, uint64_t end, uint64_t space = kSpace) {
    size_t held = 0;
    for (uint64_t record = begin; record < end; ++record) {
      const auto found = Read(cache, record, 1000, space);
      if (!found.has_value()) continue;
      EXPECT_EQ(*found, Bytes(record));
      ++held;
    }
    return held;
  }
  std::string folder() const { return temp_.File("cache"); }
  std::string SpaceFile(const std::string& name) const { return SpaceFolder(folder(), kSpace) + "/" + name; }
  std::vector<std::string> warnings() {
    MutexLock lock(&mutex_);
    return warnings_;
  }
  static uint64_t FilesBytes(const std::string& folder) {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name == "records" || name == "index") bytes += entry.file_size();
    }
    return bytes;
  }

  TempDir temp_;
  ManualClock clock_;
  uint64_t index_bytes_ = 1 << 20, queue_bytes_ = 1 << 20;
  Mutex mutex_;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::cache

#endif  // PENSTOCK_TESTS_PIPELINE_CACHE_DISK_DISK_CACHE_TESTING_H_
