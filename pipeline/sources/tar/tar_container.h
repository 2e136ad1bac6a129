// The container tar: samples of a WebDataset. A record is a sample: neighboring members with one key (sample_name.h).
// Its data are its bytes in the archive, from the first header to the end of the padding of its last member. The data
// include members between them that belong to no sample, which parsers skip.
//
// A member holds one feature, or several in a JSON text. With requested features, the data are the bytes of the members
// that SampleMembers chooses, each from its first header to the end of its padding.
#ifndef PENSTOCK_PIPELINE_SOURCES_TAR_TAR_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_TAR_TAR_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// The identity of a sample for its content hash: for each member with an extension its name, a zero byte, u64 size and
// u32 CRC-32C of its data, all little-endian. Times and owners of members do not count.
class TarContainer final : public Container {
 public:
  std::string_view FileNoun() const override { return "a tar archive"; }
  std::string_view RecordNoun() const override { return "sample"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  bool StoresFeaturesApart() const override { return true; }
  std::vector<ByteRange> RangesOf(const ShardIndex& index, uint64_t k,
                                  const RequestedFeatures& features) const override;
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TAR_TAR_CONTAINER_H_
