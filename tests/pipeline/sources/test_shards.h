// Shards and files for the tests of pipeline/sources.
#ifndef PENSTOCK_TESTS_PIPELINE_SOURCES_TEST_SHARDS_H_
#define PENSTOCK_TESTS_PIPELINE_SOURCES_TEST_SHARDS_H_

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/philox.h"
#include "pipeline/sources/tfrecord/framing.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/temp_folder.h"

namespace penstock::sources {

inline void WriteBytes(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.good()) << path;
}

// A file whose bytes are in memory.
class MemoryFile final : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t n = std::min<size_t>(length, bytes_.size() - offset);
    std::memcpy(out, bytes_.data() + offset, n);
    return n;
  }
  absl::StatusOr<FileInfo> Info() const override { return FileInfo{bytes_.size(), mtime_ns}; }
  const std::string& path() const override { return path_; }

  int64_t mtime_ns = 1;

 private:
  std::string bytes_;
  std::string path_ = "memory";
};

// Bytes that compress by about half and differ for each seed.
inline std::string TestBytes(size_t size, uint64_t seed) {
  std::string bytes(size, '\0');
  SampleRandom random(seed, 7, 0);
  for (size_t i = 0; i < size; i += 4) {
    const uint32_t word = random.Next32() & 0x0f3f0f3f;
    std::memcpy(bytes.data() + i, &word, std::min<size_t>(4, size - i));
  }
  return bytes;
}

inline std::string Frame(const std::vector<std::string>& records) {
  std::string stream;
  for (const std::string& record : records) AppendFramedRecord(record, &stream);
  return stream;
}

inline void WriteShard(const std::string& path, const std::vector<std::string>& records,
                       Compression compression = Compression::kNone) {
  auto writer = TFRecordWriter::Open(storage::LocalFiles(), path, {.compression = compression});
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const std::string& record : records) ASSERT_TRUE((*writer)->Write(record).ok());
  ASSERT_TRUE((*writer)->Close().ok());
}

inline std::string GzippedBytes(const std::string& bytes) {
  z_stream zlib = {};
  EXPECT_EQ(deflateInit2(&zlib, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&zlib, bytes.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  zlib.avail_in = static_cast<uInt>(bytes.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

inline std::string Slurp(const std::string& path) {
  auto content = ReadWholeFile(path);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.ok() ? *content : "";
}

}  // namespace penstock::sources

#endif  // PENSTOCK_TESTS_PIPELINE_SOURCES_TEST_SHARDS_H_
