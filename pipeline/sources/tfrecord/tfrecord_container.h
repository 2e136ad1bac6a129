// The container TFRecord: each record has a frame with its length and CRCs (framing.h).
#ifndef PENSTOCK_PIPELINE_SOURCES_TFRECORD_TFRECORD_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_TFRECORD_TFRECORD_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// The identity of a record for its content hash is its frame: u64 length, and the masked CRCs of length and data.
class TfRecordContainer final : public Container {
 public:
  std::string_view FileNoun() const override { return "a TFRecord file"; }
  std::string_view RecordNoun() const override { return "record"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TFRECORD_TFRECORD_CONTAINER_H_
