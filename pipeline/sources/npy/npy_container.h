// The container NPY: a .npy file of NumPy. A record is a row of the array. The stored bytes of a record are those of
// the row. Its data are a .npy file of this row alone: a header with the shape of a row (ShardIndex::head), and the
// row. So numpy.load() returns array[k] for the data of record k. With windows (row_windows.h), a record has several
// rows, and numpy.load() returns array[k * stride : k * stride + size].
#ifndef PENSTOCK_PIPELINE_SOURCES_NPY_NPY_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_NPY_NPY_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// The identity of a record for its content hash: u8 number of the container, u64 length and u32 CRC-32C of the row, and
// u32 CRC-32C of the head, all little-endian. The version and the padding of the file's header do not count.
//
// An array whose rows are not contiguous, or have a type that needs Python, is a file of another kind.
class NpyContainer final : public Container {
 public:
  std::string_view FileNoun() const override { return "a .npy file"; }
  std::string_view RecordNoun() const override { return "row"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;
};

// Returns a hash of the names and types of the rows' fields, without their shapes and the widths of texts. Returns 0 if
// the index is not that of an array with rows.
uint64_t RowTypeOf(const ShardIndex& index);

// Returns InvalidArgument: the rows of two files of a data set have different types.
absl::Status RowsDiffer(std::string_view file, std::string_view other);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_NPY_NPY_CONTAINER_H_
