// Chooses how the rows of one stream are coded for its link: uncompressed or compressed (pipeline/batch/row_coding.h).
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SEND_CODING_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SEND_CODING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/runtime/clock.h"
#include "penstock/v1/data.pb.h"
#include "pipeline/batch/row_coding.h"
#include "server/worker/stream/compression_trial.h"
#include "server/worker/stream/wire_compression.h"

namespace penstock::worker {

// Not thread-safe.
class SendCoding {
 public:
  // Call it before all other functions. `over_network`: saving bytes of the stream's link is worthwhile.
  void Opened(WireCompression mode, const v1::Open& open, const batch::RowSchema& schema, bool over_network);

  // Begins a message at `now`. Returns its encoder, which is valid until the next call, or null if its rows stay
  // uncompressed.
  batch::RowEncoder* Begin(Nanos now);
  // Records the size of the rows in the message.
  void Made(uint64_t row_bytes) { row_bytes_ = row_bytes; }
  // Discards measurements of the previous link.
  void LinkChanged() { trial_.Restart(); }
  // Records that the link has taken the message. `held_up`: the next one waits. Returns a message for the log; usually
  // "".
  std::string Written(bool held_up, Nanos now);

 private:
  WireCompression mode_ = WireCompression::kOff;
  batch::RowSchema schema_;
  std::unique_ptr<batch::RowEncoder> encoder_;
  CompressionTrial trial_;
  Nanos began_ = 0;
  uint64_t row_bytes_ = 0;  // 0: no message of rows is being written
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SEND_CODING_H_
