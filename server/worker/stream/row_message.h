// Builds one message of the data plane from rows. Copies only small rows, and rows that it compresses.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_ROW_MESSAGE_H_
#define PENSTOCK_SERVER_WORKER_STREAM_ROW_MESSAGE_H_

#include <cstdint>
#include <vector>

#include "pipeline/batch/row_coding.h"
#include "pipeline/loader/loader.h"
#include "transport/slice.h"

namespace penstock::worker {

// Smaller rows are joined into one piece of a message, because a slice costs more than copying them.
constexpr uint64_t kJoinRowsBelow = 8 << 10;

// A Rows message of `rows`. There is at least one, all are of one epoch, and their tags are SessionCore's. The message
// owns the rows: their memory returns to the loader's budget when the carrier releases the message. Each row has at
// most kMaxRowBytes. If `encoder` is not null, it compresses the payload unless that makes it larger.
struct RowsMessage {
  transport::SliceList message;
  uint64_t row_bytes = 0;   // size of the rows, uncompressed
  uint64_t sent_bytes = 0;  // size of the payload; equal to row_bytes unless compressed
};
RowsMessage MakeRowsMessage(std::vector<loader::RowResult> rows, uint64_t fixed_bytes,
                            batch::RowEncoder* encoder = nullptr);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_ROW_MESSAGE_H_
