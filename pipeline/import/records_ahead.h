// Records of remote shards, fetched before items are made of them.
#ifndef PENSTOCK_PIPELINE_IMPORT_RECORDS_AHEAD_H_
#define PENSTOCK_PIPELINE_IMPORT_RECORDS_AHEAD_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/import/items_ahead.h"
#include "pipeline/loader/dataset_reader.h"

namespace penstock::imports {

// Returns a prefetcher of items, where item i uses record i % `records`. Returns null if the reader has low latency:
// each record is then read when it is needed. `reader` must outlive the result.
std::unique_ptr<ItemsAhead> NewRecordsAhead(loader::DatasetReader* reader, uint64_t records);

// Returns the record of `item`, from `ahead` if that is not null. The bytes are in `fetched` or `buffer` until their
// next use.
absl::StatusOr<std::string_view> TakeRecord(loader::DatasetReader* reader, ItemsAhead* ahead, uint64_t item,
                                            uint64_t record, FetchedItem* fetched, loader::RecordBuffer* buffer);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_RECORDS_AHEAD_H_
