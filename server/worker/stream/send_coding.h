// How the rows of one stream are coded for its link: as they are, or compressed (pipeline/batch/row_coding.h).
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

namespace penstock {

// Not thread-safe.
class SendCoding {
 public:
  // Before all others. `over_network`: what the stream's link takes is worth saving.
  void Opened(WireCompression mode, const v1::Open& open, const RowSchema& schema, bool over_network);

  // For the message that is made now, at `now`: null when its rows are to stay as they are.
  RowEncoder* Begin(Nanos now);
  // What was made: rows of so many bytes.
  void Made(uint64_t row_bytes) { row_bytes_ = row_bytes; }
  // The link is another from now on: what was measured on it before is no measure.
  void LinkChanged() { trial_.Restart(); }
  // The link has taken it. `held_up`: the next one waits. What people are to be told; mostly nothing.
  std::string Written(bool held_up, Nanos now);

 private:
  WireCompression mode_ = WireCompression::kOff;
  RowSchema schema_;
  std::unique_ptr<RowEncoder> encoder_;
  CompressionTrial trial_;
  Nanos began_ = 0;
  uint64_t row_bytes_ = 0;  // 0: no message of rows is being written
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SEND_CODING_H_
