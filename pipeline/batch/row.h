// The schema of a row, and the slot that receives one row.
//
// A row has one entry per column. A FIXED column has a known dtype and shape, so its number of bytes is known before
// any row is made. The bytes are dense, row-major and little-endian. A RAGGED column holds any number of elements per
// row. dtype kString always has RAGGED storage, even if `scalar` states that each row holds exactly one string.
#ifndef PENSTOCK_PIPELINE_BATCH_ROW_H_
#define PENSTOCK_PIPELINE_BATCH_ROW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/batch/dtype.h"

namespace penstock::batch {

struct ColumnSpec {
  std::string name;
  DType dtype = DType::kUint8;
  bool ragged = false;
  // FIXED: the shape of one row's tensor ([] is a scalar). RAGGED: the shape of one element.
  std::vector<int64_t> shape;
  // RAGGED kString only: one string per row instead of a list of strings.
  bool scalar = false;

  // Returns the bytes of one row of a FIXED column, or of one element of a RAGGED one. Returns 0 for kString.
  size_t Bytes() const;
  bool operator==(const ColumnSpec&) const = default;
};

struct RowSchema {
  std::vector<ColumnSpec> columns;

  // Returns the bytes of all FIXED columns of one row, without padding.
  size_t FixedBytes() const;
  // Returns the column's index, or -1.
  int Find(const std::string& name) const;
  bool operator==(const RowSchema&) const = default;
};

// The destination of one row. `fixed[c]` points to Bytes() of column c in a batch or in a message (null for RAGGED
// columns). `ragged[c]` receives the encoded elements of RAGGED column c (empty for FIXED ones):
//   u32 count, then  numbers: count * Bytes() bytes;  kString: count u32 lengths, then the bytes of all strings.
// All numbers are little-endian. One thread at a time owns and writes a slot.
struct RowSlot {
  std::vector<std::byte*> fixed;
  std::vector<std::string> ragged;
  // Whether a lenient op made the row from a damaged source. The row is valid.
  bool lenient = false;
};

// Appends the header of the ragged encoding above. The elements follow.
void AppendRaggedHeader(uint32_t count, std::string* out);

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_H_
