// A finished row as one string, for the cache of rows: the FIXED columns one after another in schema order, then for
// each RAGGED column a u32 with its length and its bytes. The u32 has this machine's byte order.
#ifndef PENSTOCK_PIPELINE_LOADER_PACKED_ROW_H_
#define PENSTOCK_PIPELINE_LOADER_PACKED_ROW_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "pipeline/batch/row.h"

namespace penstock::loader {

size_t PackedRowBytes(const batch::RowSchema& schema, const batch::RowSlot& slot);
std::string PackRow(const batch::RowSchema& schema, const batch::RowSlot& slot);
// Writes the result of PackRow for a row of the same schema to `slot`, whose vectors have one element per column and
// whose pointers are set.
void UnpackRow(const batch::RowSchema& schema, std::string_view packed, batch::RowSlot* slot);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_PACKED_ROW_H_
