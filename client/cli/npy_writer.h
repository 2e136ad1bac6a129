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

// Returns the array's header with its padding: magic, version, and a dict of descr, fortran_order and shape. `descr` is
// NumPy's type string, for example "<i8".
std::string NpyHeader(std::string_view descr, const std::vector<int64_t>& shape);

// Returns NumPy's type string of an element type. NumPy lacks bfloat16, which is written as two raw bytes ("|V2").
std::string_view NpyDescr(ElementType type);

// Writes dense little-endian `data` of the given type and shape to `path`.
absl::Status WriteNpy(const std::string& path, std::string_view descr, const std::vector<int64_t>& shape,
                      const void* data, size_t bytes);

// Writes a batch as PREFIX.COLUMN.npy, PREFIX.id.npy (int64, rows x 2: shard, record) and PREFIX.valid.npy (uint8).
// Also writes PREFIX.source.npy, in the format of PREFIX.id.npy, if the content of a row is from another record. For
// RAGGED columns, PREFIX.COLUMN.npy holds the values of all rows and PREFIX.COLUMN.row_splits.npy their boundaries;
// strings are bytes with PREFIX.COLUMN.offsets.npy. Replaces '/' in a column's name by '_'.
absl::Status WriteBatchAsNpy(const Batch& batch, const std::string& prefix);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_NPY_WRITER_H_
