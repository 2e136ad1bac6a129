// Any bytes as a shard of any compression: what is indexed can be read, and verifying says the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "pipeline/base/check.h"
#include "pipeline/records/index_builder.h"
#include "pipeline/records/shard_reader.h"
#include "pipeline/records/verify.h"

namespace {

using penstock::Compression;

class BytesFile final : public penstock::RandomAccessFile {
 public:
  explicit BytesFile(std::string_view bytes) : bytes_(bytes) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t n = std::min<size_t>(length, bytes_.size() - offset);
    std::memcpy(out, bytes_.data() + offset, n);
    return n;
  }
  absl::StatusOr<penstock::FileInfo> Info() const override { return penstock::FileInfo{bytes_.size(), 0}; }
  const std::string& path() const override { return path_; }

 private:
  const std::string_view bytes_;
  const std::string path_ = "fuzz";
};

void Check(std::string_view bytes, Compression compression) {
  constexpr uint64_t kLimit = 1 << 20;
  auto file = std::make_unique<BytesFile>(bytes);
  const auto report = penstock::VerifyShard(*file, {.compression = compression, .max_record_bytes = kLimit});
  PS_CHECK(report.ok());
  auto index =
      penstock::BuildShardIndex(*file, {.compression = compression, .max_record_bytes = kLimit, .restart_spacing = 1});
  if (!index.ok()) {
    PS_CHECK(!report->ok());
    return;
  }
  const auto parsed = penstock::ShardIndex::Parse(index->Serialize());
  PS_CHECK(parsed.ok() && *parsed == *index);
  auto reader = penstock::ShardReader::Open(
      std::move(file), std::make_shared<const penstock::ShardIndex>(*std::move(index)), {.max_cursors = 0});
  PS_CHECK(reader.ok());
  uint64_t readable = 0;
  std::string record;
  for (uint64_t k = (*reader)->index().record_count(); k-- > 0;) readable += (*reader)->ReadRecord(k, &record).ok();
  PS_CHECK(readable == report->readable_records);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const Compression compression :
       {Compression::kAuto, Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    Check(bytes, compression);
  }
  return 0;
}
