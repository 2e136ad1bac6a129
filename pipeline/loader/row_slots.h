// The bytes of rows: where a row's columns are, and how much memory they may take.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_SLOTS_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_SLOTS_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/batch/row.h"

namespace penstock::loader {

// Returns an upper bound of the bytes of a row's RAGGED columns if its record has `record_bytes`, and no two columns
// have the same values. Otherwise the bytes may exceed it.
uint64_t RaggedBound(const batch::RowSchema& schema, uint64_t record_bytes);

// Writes a row without content to `slot`: zeros, no elements, one empty string in `scalar` columns.
void MaskRow(const batch::RowSchema& schema, batch::RowSlot* slot);

// Points the slot's FIXED columns one after another into `bytes`, which has schema.FixedBytes() bytes.
void PointInto(const batch::RowSchema& schema, std::byte* bytes, batch::RowSlot* slot);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_SLOTS_H_
