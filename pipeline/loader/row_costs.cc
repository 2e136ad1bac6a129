#include "pipeline/loader/row_costs.h"

namespace penstock::loader {
namespace {

void AddSeen(uint64_t bytes, MeanOfLate* mean) {
  if (bytes > 0) mean->Add(static_cast<double>(bytes));
}

}  // namespace

RowCosts::Saved RowCosts::Add(const RowCost& row) {
  Saved saved;
  const double compute = InSeconds(row.compute);
  AddSeen(row.record_bytes, &record_bytes_);
  AddSeen(row.decoded_bytes, &decoded_bytes_);
  AddSeen(row.row_bytes, &row_bytes_);
  if (row.from == RowFrom::kKept) {
    if (whole_.count() > 0) saved.row = whole_.mean() - compute;
    kept_.Add(compute);
    return saved;
  }
  if (row.cached_record) {
    saved.record = read_.mean();
  } else if (row.read > 0) {
    read_.Add(InSeconds(row.read));
  }
  whole_.Add(compute + InSeconds(row.read));
  switch (row.from) {
    case RowFrom::kRecord:
      from_record_.Add(compute);
      break;
    case RowFrom::kFilled:
      filled_.Add(compute);
      from_decoded_.Add(InSeconds(row.from_decoded));
      break;
    case RowFrom::kDecoded:
      // If no row was made from its record alone, use the time with the decode of the whole image.
      if (from_record_.count() > 0) {
        saved.decoded = from_record_.mean() - compute;
      } else if (filled_.count() > 0) {
        saved.decoded = filled_.mean() - compute;
      }
      from_decoded_.Add(compute);
      break;
    case RowFrom::kKept:
      break;
  }
  return saved;
}

}  // namespace penstock::loader
