#include "pipeline/loader/row_slots.h"

#include <algorithm>
#include <cstring>

namespace penstock::loader {

uint64_t RaggedBound(const batch::RowSchema& schema, uint64_t record_bytes) {
  // Growth of one byte of a record. An int64 has at least 1 byte there. A string has 2 bytes in addition to its text,
  // and a u32 length here. A float has at least 2 bytes: as a float16, or as a digit and a comma of JSON. Raw numbers
  // have the same size; they count like an int64.
  uint64_t factor = 0, columns = 0;
  for (const batch::ColumnSpec& column : schema.columns) {
    if (!column.ragged) continue;
    ++columns;
    const uint64_t own = column.dtype == batch::DType::kString ? 3 : column.dtype == batch::DType::kFloat32 ? 2 : 8;
    factor = std::max(factor, own);
  }
  return factor * record_bytes + 16 * columns;
}

void MaskRow(const batch::RowSchema& schema, batch::RowSlot* slot) {
  slot->ragged.resize(schema.columns.size());
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const batch::ColumnSpec& column = schema.columns[c];
    slot->ragged[c].clear();
    if (!column.ragged) {
      std::memset(slot->fixed[c], 0, column.Bytes());
    } else if (column.scalar) {
      batch::AppendRaggedHeader(1, &slot->ragged[c]);
      batch::AppendRaggedHeader(0, &slot->ragged[c]);  // length of the string
    } else {
      batch::AppendRaggedHeader(0, &slot->ragged[c]);
    }
  }
}

void PointInto(const batch::RowSchema& schema, std::byte* bytes, batch::RowSlot* slot) {
  slot->fixed.assign(schema.columns.size(), nullptr);
  slot->ragged.resize(schema.columns.size());
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (schema.columns[c].ragged) continue;
    slot->fixed[c] = bytes;
    bytes += schema.columns[c].Bytes();
  }
}

}  // namespace penstock::loader
