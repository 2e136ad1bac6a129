// Traces a stream's messages of rows, from making a message until the carrier has taken it.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SEND_TRACE_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SEND_TRACE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/trace/trace_recorder.h"
#include "pipeline/loader/loader.h"

namespace penstock::worker {

// Used by one stream, on its strand.
class SendTrace {
 public:
  // `trace` may be null.
  explicit SendTrace(TraceRecorder* trace) : trace_(trace) {}

  void Opened(std::string job, std::string session);
  // Begins the trace of the next message, which has these rows.
  void Begins(const std::vector<loader::RowResult>& rows, Nanos now) {
    if (trace_ != nullptr && trace_->on()) Begin(rows, now);
  }
  // Records that the message was made and is being sent.
  void Made(uint64_t bytes, Nanos now);
  // Records that the carrier has taken the previous message, with or without rows.
  void Written(Nanos now);

 private:
  void Begin(const std::vector<loader::RowResult>& rows, Nanos now);

  TraceRecorder* const trace_;
  std::string job_, session_;
  std::shared_ptr<TraceTrack> track_;  // null: no traced message of rows is in flight
  TraceEvent send_;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SEND_TRACE_H_
