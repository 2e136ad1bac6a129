// Rows as one message of the data plane, without copying their bytes unless they are compressed.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_ROW_MESSAGE_H_
#define PENSTOCK_SERVER_WORKER_STREAM_ROW_MESSAGE_H_

#include <cstdint>
#include <vector>

#include "pipeline/batch/row_coding.h"
#include "pipeline/loader/loader.h"
#include "transport/slice.h"

namespace penstock {

// Smaller rows are joined into one piece of a message, since a slice costs more than copying them does.
constexpr uint64_t kJoinRowsBelow = 8 << 10;

// A Rows message of `rows`, which are all of one epoch and not empty. Their tags are SessionCore's.
// The message owns the rows: their memory returns to the loader's budget when its carrier has let go of it. Each
// has at most kMaxRowBytes. `encoder`: the payload is compressed, where that makes it smaller; null: it is not.
struct RowsMessage {
  SliceList message;
  uint64_t row_bytes = 0;   // of the rows
  uint64_t sent_bytes = 0;  // of the payload: the same unless it is compressed
};
RowsMessage MakeRowsMessage(std::vector<RowResult> rows, uint64_t fixed_bytes, RowEncoder* encoder = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_ROW_MESSAGE_H_
