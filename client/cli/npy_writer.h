// NumPy .npy files (format version 1.0, numpy/lib/format.py).
#ifndef PENSTOCK_CLIENT_CLI_NPY_WRITER_H_
#define PENSTOCK_CLIENT_CLI_NPY_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "penstock/batch.h"

namespace penstock::cli {

// The array's header with its padding: magic, version, a dict of descr, fortran_order and shape. `descr` is NumPy's,
// such as "<i8".
std::string NpyHeader(std::string_view descr, const std::vector<int64_t>& shape);

// NumPy's name of an element type; bfloat16, which NumPy lacks, is written as two raw bytes ("|V2").
std::string_view NpyDescr(ElementType type);

// Writes dense little-endian `data` of that type and shape to `path`.
absl::Status WriteNpy(const std::string& path, std::string_view descr, const std::vector<int64_t>& shape,
                      const void* data, size_t bytes);

// All of a batch, as PREFIX.COLUMN.npy, PREFIX.id.npy (int64, rows x 2: shard, record) and PREFIX.valid.npy (uint8);
// PREFIX.source.npy as PREFIX.id.npy, where the content of a row is another record's.
// RAGGED columns: PREFIX.COLUMN.npy has the values of all rows and PREFIX.COLUMN.row_splits.npy the borders; strings
// are bytes with PREFIX.COLUMN.offsets.npy. '/' in a column's name becomes '_'.
absl::Status WriteBatchAsNpy(const Batch& batch, const std::string& prefix);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_NPY_WRITER_H_
