// What the loader's caches give.
#include "pipeline/loader/loader_core.h"

namespace penstock {

void LoaderCore::CountCost(const MadeRow& made, Nanos took, OpenedSession* session) {
  // What was at fault, or another stood in for, is no measure of a row.
  if (!made.status.ok() || !made.fault.ok()) return;
  RowCost cost;
  cost.from = made.from;
  cost.compute = took - made.read_time;
  cost.read = made.storage_time + made.disk_time;
  cost.cached_record = made.cached_record;
  cost.from_decoded = made.from_decoded_time;
  cost.record_bytes = made.record_bytes;
  cost.decoded_bytes = made.decoded_bytes;
  cost.row_bytes = made.row_bytes;
  const RowCosts::Saved saved = session->activity->AddCost(cost);
  saved_.record += saved.record;
  saved_.decoded += saved.decoded;
  saved_.row += saved.row;
}

}  // namespace penstock
