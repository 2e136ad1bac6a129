// A finished row as one string, for the cache of rows: its FIXED columns one after another in schema order, then of
// each RAGGED column a u32 of its bytes and the bytes. Made and read in one process.
#ifndef PENSTOCK_PIPELINE_LOADER_PACKED_ROW_H_
#define PENSTOCK_PIPELINE_LOADER_PACKED_ROW_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "pipeline/batch/row.h"

namespace penstock {

size_t PackedRowBytes(const RowSchema& schema, const RowSlot& slot);
std::string PackRow(const RowSchema& schema, const RowSlot& slot);
// Writes what PackRow made of a row of the same schema into `slot`, whose pointers are set.
void UnpackRow(const RowSchema& schema, std::string_view packed, RowSlot* slot);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_PACKED_ROW_H_
