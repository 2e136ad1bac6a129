// A container of records: how the stream of a shard stores them, how they are found without an index, and how a read of
// one is checked. The stream is the file itself, or its decompressed content.
#ifndef PENSTOCK_PIPELINE_SOURCES_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock {

// Immutable, without state. There is one object of each kind.
class Container {
 public:
  virtual ~Container() = default;

  static const Container& Of(ContainerKind kind);

  // Starts a walk over the stream.
  virtual std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const = 0;
  // Returns the data of record k, a part of `stored`, if it is that of the index. `stored` has index.StoredBytes(k)
  // bytes, read at index.RecordOffset(k). Otherwise returns DamagedRead with the reason.
  virtual absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const char* stored) const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_SOURCES_CONTAINER_H_
