// Container of manifests: text whose rows name files. The text is JSONL if it begins with an object of JSON. Otherwise
// it has a first row of names: it is TSV if this row has a tab, and CSV if not (lines/line_container.h).
//
// A record is a row with the bytes of its file (file_frame.h). Only the row is in the shard. The index has the place
// and the state of the file (ShardIndex::files). A row without a file is a record too: it is bad if a job reads its
// file.
#ifndef PENSTOCK_PIPELINE_SOURCES_MANIFEST_MANIFEST_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_MANIFEST_MANIFEST_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// The feature that has the bytes of the file. RequestedFeatures name it as an extension.
inline constexpr std::string_view kFileFeature = "contents";

// The identity of a record for its content hash is that of its row (lines/line_container.h), with the bytes of
// the file's name in decimal, ":", the name, and FilePiece::Identity().
class ManifestContainer final : public Container {
 public:
  std::string_view FileNoun() const override { return "a manifest"; }
  std::string_view RecordNoun() const override { return "row"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  // The range of any features in the shard is the whole row. The file is not in the shard.
  bool StoresFeaturesApart() const override { return true; }
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;
};

// Returns whether the features need the file of a record; null: all features.
bool NeedFile(const RequestedFeatures* features);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_MANIFEST_MANIFEST_CONTAINER_H_
