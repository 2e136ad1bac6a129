#include "client/feed/epoch_warnings.h"

namespace penstock::feed {

v1::Batch BatchOf(const Reader& reader) {
  v1::Batch batch;
  batch.set_size(static_cast<uint32_t>(reader.batch_size()));
  v1::LastBatch last = v1::DROP;
  if (v1::LastBatch_Parse(std::string(reader.last_batch()), &last)) batch.set_last(last);
  for (const BatchChange& change : reader.batch_changes()) {
    v1::BatchChange* const later = batch.add_change();
    later->set_at_rows(change.at_rows);
    later->set_size(static_cast<uint32_t>(change.size));
  }
  return batch;
}

}  // namespace penstock::feed
