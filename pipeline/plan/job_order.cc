#include "pipeline/plan/job_order.h"

namespace penstock::plan {

PlanOptions PlanOptionsOf(const v1::Order& order) {
  PlanOptions options;
  options.seed = order.seed();
  options.shuffle = order.shuffle() == v1::Order::NONE   ? Shuffle::kNone
                    : order.shuffle() == v1::Order::FULL ? Shuffle::kFull
                                                         : Shuffle::kChunked;
  if (order.repeats() != 0) options.repeats = order.repeats();
  if (order.chunk_records() != 0) options.chunk_records = order.chunk_records();
  if (order.window_chunks() != 0) options.window_chunks = order.window_chunks();
  return options;
}

LastBatch LastBatchOf(v1::LastBatch last) {
  return last == v1::PAD ? LastBatch::kPad : last == v1::PARTIAL ? LastBatch::kPartial : LastBatch::kDrop;
}

}  // namespace penstock::plan
