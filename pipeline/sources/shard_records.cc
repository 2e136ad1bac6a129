#include "pipeline/sources/shard_records.h"

#include <utility>

#include "base/status_macros.h"
#include "pipeline/sources/record_buffer.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {
namespace {

constexpr uint64_t kRangeBytes = uint64_t{4} << 20;

struct Range {
  uint64_t first = 0, count = 0;
  uint64_t needed_bytes = 0;  // bytes that hold the features
};

// Returns the range from `first` on that has at most kRangeBytes, or one record.
Range RangeFrom(const ShardReader& reader, const RequestedFeatures* features, uint64_t first) {
  const ShardIndex& index = reader.index();
  Range range{first, 1, reader.StoredBytes(first, features)};
  const bool ascends = index.group_names().empty() && !index.is_packed();  // records may overlap
  while (ascends && first + range.count < index.record_count() &&
         index.RangeBytes(first, range.count + 1) <= kRangeBytes) {
    range.needed_bytes += reader.StoredBytes(first + range.count, features);
    ++range.count;
  }
  return range;
}

// Reads the stored bytes of the range into `buffer`.
absl::Status ReadRange(const ShardReader& reader, const Range& range, RecordBuffer* buffer) {
  const uint64_t bytes = reader.index().RangeBytes(range.first, range.count);
  char* const out = buffer->Get(bytes);
  return storage::WaitForCall<bool>([&](storage::CallDone<bool> done) {
           reader.ReadBytesLater(range.first, range.count, {{out, bytes}}, {},
                                 [done = std::move(done)](const absl::Status& read) mutable {
                                   std::move(done)(read.ok() ? absl::StatusOr<bool>(true) : read);
                                 });
         })
      .status();
}

}  // namespace

absl::Status ForEachRecord(const ShardReader& reader, const RequestedFeatures* features,
                           const std::function<absl::Status(uint64_t, const absl::StatusOr<std::string_view>&)>& use) {
  const ShardIndex& index = reader.index();
  RecordBuffer buffer, with_head;
  for (uint64_t first = 0; first < index.record_count();) {
    const Range range = RangeFrom(reader, features, first);
    const bool in_range = reader.HasRanges() && 2 * range.needed_bytes >= index.RangeBytes(first, range.count);
    if (in_range) PS_RETURN_IF_ERROR(ReadRange(reader, range, &buffer));
    for (uint64_t k = first; k < first + range.count; ++k) {
      absl::StatusOr<std::string_view> record;
      if (in_range) {
        // The range is in the buffer, from its first byte on.
        record = reader.RecordOf(k, buffer.Get(0) + (index.RecordOffset(k) - index.RecordOffset(first)), features,
                                 &with_head);
      } else {
        record = reader.ReadRecord(k, buffer.Get(reader.StoredBytes(k, features)), features);
      }
      if (!record.ok() && !absl::IsDataLoss(record.status())) return record.status();
      PS_RETURN_IF_ERROR(use(k, record));
    }
    first += range.count;
  }
  return absl::OkStatus();
}

}  // namespace penstock::sources
