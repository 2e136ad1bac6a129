// Writes NumPy .npy files (format version 1.0, numpy/lib/format.py).
#ifndef PENSTOCK_CLIENT_CLI_NPY_WRITER_H_
#define PENSTOCK_CLIENT_CLI_NPY_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "penstock/batch.h"

namespace penstock::cli {

// Returns NumPy's type string of an element type: "|u1" for the bytes of strings, and "|V2" (two raw bytes) for
// bfloat16, which NumPy lacks.
std::string_view NpyDescr(ElementType type);

// Writes dense little-endian `data` of the given type and shape to `path`.
absl::Status WriteNpy(const std::string& path, std::string_view descr, const std::vector<int64_t>& shape,
                      const void* data, size_t bytes);

// Writes a batch as PREFIX.COLUMN.npy, PREFIX.id.npy (int64, rows x 2: shard, record) and PREFIX.valid.npy (uint8).
// Also writes PREFIX.source.npy, in the format of PREFIX.id.npy, if the content of a row is from another record. For
// RAGGED columns, PREFIX.COLUMN.npy holds the values of all rows and PREFIX.COLUMN.row_splits.npy their boundaries. For
// strings, PREFIX.COLUMN.npy holds the bytes and PREFIX.COLUMN.offsets.npy their boundaries. Replaces '/' in a column's
// name by '_'.
absl::Status WriteBatchAsNpy(const Batch& batch, const std::string& prefix);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_NPY_WRITER_H_
