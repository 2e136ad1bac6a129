// The data plane as the session sees it: streams to workers, whatever carries them.
#ifndef PENSTOCK_CLIENT_TRANSPORT_WORKER_STREAM_H_
#define PENSTOCK_CLIENT_TRANSPORT_WORKER_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "penstock/v1/data.pb.h"

namespace penstock {

// What comes from streams. Called on the transport's threads, which must not be held up: implementations hand the
// message on and return. Calls for one stream come one after another.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // A message came. Its receiver calls WorkerStream::Consumed when it is done with it.
  virtual void OnMessage(uint64_t stream, grpc::ByteBuffer message) = 0;
  // The last event of a stream. OK: the worker ended it in order.
  virtual void OnClosed(uint64_t stream, const absl::Status& status) = 0;
};

// Thread-safe.
class WorkerStream {
 public:
  // Bytes received and not consumed beyond which nothing more is read for the while: what a worker sends unasked
  // cannot fill the memory.
  static constexpr size_t kMaxBacklogBytes = 32 << 20;
  // Messages waiting to be written beyond which the stream is given up: the worker reads nothing.
  static constexpr size_t kMaxQueuedMessages = 4096;

  virtual ~WorkerStream() = default;
  // Sends after what was sent before; also before the worker has been reached. Never waits. Lost when the stream ends.
  virtual void Send(v1::ClientMessage message) = 0;
  // The receiver is done with a message of that many bytes.
  virtual void Consumed(size_t bytes) = 0;
  // Ends the stream at once; OnClosed follows. Any number of times.
  virtual void Cancel() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Opens a stream to a worker at host:port; returns at once. `events` is told of the stream's end, also when it could
  // not be opened, and is kept until then.
  virtual std::shared_ptr<WorkerStream> Open(uint64_t stream, const std::string& address,
                                             std::shared_ptr<StreamEvents> events) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_WORKER_STREAM_H_
