// The shape of a row, and the slot that one row is written into.
//
// A row has one entry per column. A FIXED column's bytes are known before any row is computed: dtype and shape, dense,
// row-major, little-endian. A RAGGED column holds any number of elements per row; dtype kString is always RAGGED
// storage, also when `scalar` says that each row holds exactly one string.
#ifndef PENSTOCK_PIPELINE_BATCH_ROW_H_
#define PENSTOCK_PIPELINE_BATCH_ROW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/batch/dtype.h"

namespace penstock {

struct ColumnSpec {
  std::string name;
  DType dtype = DType::kUint8;
  bool ragged = false;
  // FIXED: the shape of one row's tensor ([] is a scalar). RAGGED: the shape of one element.
  std::vector<int64_t> shape;
  // RAGGED kString only: one string in each row, rather than a list of them.
  bool scalar = false;

  // Bytes of one row of a FIXED column, or of one element of a RAGGED one; 0 for kString.
  size_t Bytes() const;
  bool operator==(const ColumnSpec&) const = default;
};

struct RowSchema {
  std::vector<ColumnSpec> columns;

  // Bytes of all FIXED columns of one row, without padding.
  size_t FixedBytes() const;
  // The column's number, or -1.
  int Find(const std::string& name) const;
  bool operator==(const RowSchema&) const = default;
};

// Where one row goes. `fixed[c]` points at FixedBytes of column c (null for RAGGED columns): into a batch, or into a
// message. `ragged[c]` receives the encoded elements of RAGGED column c (empty for FIXED ones):
//   u32 count, then  numbers: count * Bytes() bytes;  kString: count u32 lengths, then the bytes of all strings.
// All little-endian. A slot is owned and written by one thread at a time.
struct RowSlot {
  std::vector<std::byte*> fixed;
  std::vector<std::string> ragged;
  // The row was made from a damaged source under a lenient op; the row is valid.
  bool lenient = false;
};

// Appends numbers / strings in the ragged encoding above.
void AppendRaggedHeader(uint32_t count, std::string* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_H_
