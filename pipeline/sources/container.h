// A container defines how the stream of a shard stores records. It finds records without an index, returns the ranges
// of a record or its features, and checks a read. The stream is the file itself, or its decompressed content.
#ifndef PENSTOCK_PIPELINE_SOURCES_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::sources {

// A range of bytes of a stream.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;

  bool operator==(const ByteRange&) const = default;
};

// Immutable, without state. There is one object of each kind.
class Container {
 public:
  virtual ~Container() = default;

  static const Container& Of(ContainerKind kind);

  // Nouns for messages: "a TFRecord file", "a tar archive", "a JSONL file"; "record", "sample".
  virtual std::string_view FileNoun() const = 0;
  virtual std::string_view RecordNoun() const = 0;

  // Starts a walk over the stream.
  virtual std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const = 0;
  // Returns whether the features of a record have ranges of their own. If not, their range is the whole record.
  virtual bool StoresFeaturesApart() const { return false; }
  // Returns the ranges of the stream that hold the requested features of record k. They are in ascending order, with a
  // gap between any two. Uses only the index.
  virtual std::vector<ByteRange> RangesOf(const ShardIndex& index, uint64_t k, const RequestedFeatures& features) const;
  // Returns the total length of RangesOf(), or index.StoredBytes(k) if `features` is null.
  uint64_t StoredBytes(const ShardIndex& index, uint64_t k, const RequestedFeatures* features) const {
    if (features == nullptr) return index.StoredBytes(k);
    uint64_t bytes = 0;
    for (const ByteRange& range : RangesOf(index, k, *features)) bytes += range.length;
    return bytes;
  }
  // Checks the bytes at `stored`, and returns the data of record k, which is a part of them. Returns DamagedRead with
  // the reason if a checksum is wrong, or if the length is not that of the index. If `features` is null, `stored` has
  // the whole record: index.StoredBytes(k) bytes, read at index.RecordOffset(k). Otherwise it has the bytes of
  // RangesOf(), one range after another.
  virtual absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k,
                                                  const RequestedFeatures* features, const char* stored) const = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_CONTAINER_H_
