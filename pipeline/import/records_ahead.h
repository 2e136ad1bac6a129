// Records of shards that are far away, brought before items are made of them.
#ifndef PENSTOCK_PIPELINE_IMPORT_RECORDS_AHEAD_H_
#define PENSTOCK_PIPELINE_IMPORT_RECORDS_AHEAD_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/import/items_ahead.h"
#include "pipeline/loader/dataset_reader.h"

namespace penstock {

// Items are by their number, of which item % `records` is the record's. Null: the reader answers at once, and each
// record is read when it is wanted. `reader` lives as long.
std::unique_ptr<ItemsAhead> NewRecordsAhead(DatasetReader* reader, uint64_t records);

// The record of `item`, from `ahead` if there is one; in *brought or in *buffer, until they are used again.
absl::StatusOr<std::string_view> TakeRecord(DatasetReader* reader, ItemsAhead* ahead, uint64_t item, uint64_t record,
                                            BroughtItem* brought, RecordBuffer* buffer);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_RECORDS_AHEAD_H_
