// Making a shard's index in one sequential pass.
#ifndef PENSTOCK_PIPELINE_RECORDS_INDEX_BUILDER_H_
#define PENSTOCK_PIPELINE_RECORDS_INDEX_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/records/compression.h"
#include "pipeline/records/framing.h"
#include "pipeline/records/shard_index.h"

namespace penstock {

struct IndexOptions {
  // kAuto looks at the content.
  Compression compression = Compression::kAuto;
  // A longer record is an error, said before anything is allocated for it. At most
  // kLargestMaxRecordBytes.
  uint64_t max_record_bytes = kDefaultMaxRecordBytes;
  // Checks the CRC of each record's data too. Off, the data of large records is not even read
  // (plain shards).
  bool verify_data = false;
  // Compressed shards: at most about this many bytes of the stream lie between two restart points,
  // so reading any record inflates at most this much before it. Doubled as often as needed to stay
  // below max_window_bytes.
  uint64_t restart_spacing = uint64_t{2} << 20;
  // Compressed shards: upper bound on the memory of all restart windows of one shard.
  uint64_t max_window_bytes = uint64_t{8} << 20;
  // Called now and then, and at the end, with the bytes of the file done since the last call. May
  // be empty.
  std::function<void(uint64_t bytes)> progress = {};
  // Ends the walk soon, with Cancelled.
  std::stop_token stop = {};
};

// Reads the whole shard and returns its index; every length CRC is verified.
//   DataLoss           the shard is broken; the message names file, record, offset, what is wrong,
//                      and how many records before it are readable
//   ResourceExhausted  a record is longer than max_record_bytes
//   Aborted            the file changed while it was read
//   Cancelled          options.stop
//   others             reading failed; from the file
absl::StatusOr<ShardIndex> BuildShardIndex(const RandomAccessFile& file, const IndexOptions& options = {});

// The content hash of a shard: XXH64 over blocks of 4096 records' (u64 length, u32 stored length
// CRC, u32 stored data CRC), blocks chained, with the number of records last. The same in every
// release.
class ContentHasher {
 public:
  // `header` is the frame's 12 bytes before the data, `footer` the 4 after it.
  void Add(const char* header, const char* footer);
  uint64_t Finish();

 private:
  void Flush();

  std::string block_;
  uint64_t state_ = 0;
  uint64_t records_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_INDEX_BUILDER_H_
