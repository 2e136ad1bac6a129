// What a trace shows of a stream's messages of rows: from making one to the moment when it was taken.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SEND_TRACE_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SEND_TRACE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/trace/trace_recorder.h"
#include "pipeline/loader/loader.h"

namespace penstock {

// Of one stream, on its strand.
class SendTrace {
 public:
  // `trace` may be null.
  explicit SendTrace(TraceRecorder* trace) : trace_(trace) {}

  void Opened(std::string job, std::string session);
  // The next message has these rows; it was begun `now`.
  void Begins(const std::vector<RowResult>& rows, Nanos now) {
    if (trace_ != nullptr && trace_->on()) Begin(rows, now);
  }
  // It was made, and goes out.
  void Made(uint64_t bytes, Nanos now);
  // The message before, whatever it was, has gone out.
  void Written(Nanos now);

 private:
  void Begin(const std::vector<RowResult>& rows, Nanos now);

  TraceRecorder* const trace_;
  std::string job_, session_;
  std::shared_ptr<TraceTrack> track_;  // null: no message of rows is under way that is traced
  TraceEvent send_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SEND_TRACE_H_
