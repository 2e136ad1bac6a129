// Any bytes as a shard of any compression. Checks that the reader can read as many records of an index as VerifyShard
// reports, and that the compressed shard gives the same records. The target also uses the bytes as a stream of frames,
// repairs their CRCs to reach the code after their check, and compresses the stream.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/little_endian.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/tfrecord/framing.h"
#include "pipeline/sources/verify.h"
#include "tests/fuzz/bytes_file.h"

namespace {

using penstock::fuzz::BytesFile;
using penstock::sources::Compression;

constexpr uint64_t kLongestRecord = 1 << 20;

// The content of a shard. Must be equal for the plain and for the compressed stream.
struct Content {
  bool indexed = false;
  bool tar = false;
  std::vector<std::string> records;  // readable records
  std::vector<std::string> labels;   // the members "cls" of samples
  bool operator==(const Content&) const = default;
};

// Reads the member "cls" of a sample, which is a part of `whole`.
std::string LabelOf(const penstock::sources::ShardReader& reader, uint64_t k, std::string whole) {
  static const auto* const label = new penstock::sources::RequestedFeatures({{{"cls"}}});
  std::string buffer(reader.StoredBytes(k, label), '\0');
  const auto read = reader.ReadRecord(k, buffer.data(), label);
  PS_CHECK(read.ok());
  const auto reduced = reader.RecordOf(k, whole.data(), label, nullptr);
  PS_CHECK(reduced.ok() && *reduced == *read);
  return std::string(*read);
}

Content Check(std::string_view bytes, Compression compression) {
  auto file = std::make_unique<BytesFile>(bytes);
  const auto report =
      penstock::sources::VerifyShard(*file, {.compression = compression, .max_record_bytes = kLongestRecord});
  PS_CHECK(report.ok());
  PS_CHECK(report->ReadableRecords().size() == report->readable_records);
  PS_CHECK(!report->Summary().empty());
  for (size_t i = 0; i < report->broken.size(); ++i) PS_CHECK(!report->Describe(i).empty());

  Content content;
  auto index = penstock::sources::BuildShardIndex(
      *file, {.compression = compression, .max_record_bytes = kLongestRecord, .restart_spacing = 1});
  if (!index.ok()) {
    PS_CHECK(!report->ok());
    return content;
  }
  content.indexed = true;
  content.tar = index->kind().container == penstock::sources::ContainerKind::kTar;
  const auto parsed = penstock::sources::ShardIndex::Parse(index->Serialize());
  PS_CHECK(parsed.ok() && *parsed == *index);
  auto reader = penstock::sources::ShardReader::Open(
      std::move(file), std::make_shared<const penstock::sources::ShardIndex>(*std::move(index)), {.max_cursors = 2});
  PS_CHECK(reader.ok());
  // From the last to the first, so that each read starts at a restart point.
  const uint64_t count = (*reader)->index().record_count();
  std::string record;
  for (uint64_t k = count; k-- > 0;) {
    if (!(*reader)->ReadRecord(k, &record).ok()) continue;
    content.records.push_back(record);
    if (content.tar) content.labels.push_back(LabelOf(**reader, k, record));
  }
  std::reverse(content.records.begin(), content.records.end());
  PS_CHECK(content.records.size() == report->readable_records);
  return content;
}

// Repairs the CRCs of all frames.
void RepairFrames(std::string* stream) {
  size_t at = 0;
  while (stream->size() - at >= penstock::sources::kRecordFrameBytes) {
    char* const frame = stream->data() + at;
    penstock::StoreLittleEndian<uint32_t>(penstock::sources::MaskedCrc32c({frame, 8}), frame + 8);
    const uint64_t length = penstock::sources::HeaderLength(frame);
    if (length > stream->size() - at - penstock::sources::kRecordFrameBytes) return;
    char* const data = frame + penstock::sources::kRecordHeaderBytes;
    penstock::StoreLittleEndian<uint32_t>(penstock::sources::MaskedCrc32c({data, length}), data + length);
    at += penstock::sources::kRecordFrameBytes + length;
  }
}

// Returns the stream in zlib's format, or in gzip's.
std::string Deflated(std::string_view stream, bool gzip) {
  z_stream deflater = {};
  PS_CHECK(deflateInit2(&deflater, 1, Z_DEFLATED, gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&deflater, stream.size()), '\0');
  deflater.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream.data()));
  deflater.avail_in = static_cast<uInt>(stream.size());
  deflater.next_out = reinterpret_cast<Bytef*>(out.data());
  deflater.avail_out = static_cast<uInt>(out.size());
  PS_CHECK(deflate(&deflater, Z_FINISH) == Z_STREAM_END);
  out.resize(deflater.total_out);
  deflateEnd(&deflater);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const Compression compression :
       {Compression::kAuto, Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    (void)Check(bytes, compression);
  }
  RepairFrames(&bytes);
  const Content plain = Check(bytes, Compression::kNone);
  // A tar archive may be compressed with gzip alone.
  PS_CHECK(plain == Check(Deflated(bytes, plain.tar), plain.tar ? Compression::kGzip : Compression::kZlib));
  return 0;
}
