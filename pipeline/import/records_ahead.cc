#include "pipeline/import/records_ahead.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "pipeline/loader/fetched_record.h"

namespace penstock::imports {
namespace {

void Fetch(loader::DatasetReader* reader, uint64_t record, const storage::CallOptions& options,
           storage::CallDone<FetchedItem> done) {
  const auto fetched = std::make_shared<loader::FetchedRecord>();
  fetched->record = record;
  // Shared, because a reader that is not ready drops the callback that it does not call.
  const auto end = std::make_shared<storage::CallDone<FetchedItem>>(std::move(done));
  const bool begun = reader->FetchRecord(fetched, options, [fetched, end] {
    if (!fetched->bytes.ok()) return std::move(*end)(fetched->bytes.status());
    std::move (*end)(FetchedItem{fetched, *fetched->bytes});
  });
  if (begun) return;
  loader::SlowWorkThreads()->Post([reader, record, stop = options.stop, end] {
    if (stop.stop_requested()) return std::move(*end)(absl::CancelledError("cancelled"));
    const auto bytes = std::make_shared<std::string>();
    if (const absl::Status read = reader->ReadRecord(record, bytes.get()); !read.ok()) return std::move(*end)(read);
    std::move (*end)(FetchedItem{bytes, *bytes});
  });
}

}  // namespace

std::unique_ptr<ItemsAhead> NewRecordsAhead(loader::DatasetReader* reader, uint64_t records) {
  if (reader->HasLowLatency()) return nullptr;
  return std::make_unique<ItemsAhead>(
      [reader, records](uint64_t item) { return reader->RecordBytes(item % records).value_or(0); },
      [reader, records](uint64_t item, const storage::CallOptions& options, storage::CallDone<FetchedItem> done) {
        Fetch(reader, item % records, options, std::move(done));
      });
}

absl::StatusOr<std::string_view> TakeRecord(loader::DatasetReader* reader, ItemsAhead* ahead, uint64_t item,
                                            uint64_t record, FetchedItem* fetched, loader::RecordBuffer* buffer) {
  if (ahead == nullptr) return reader->ReadRecord(record, buffer);
  PS_ASSIGN_OR_RETURN(*fetched, ahead->Take(item));
  return fetched->bytes;
}

}  // namespace penstock::imports
