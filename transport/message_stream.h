// The interface of the data plane: streams of messages between a client and a worker, independent of the carrier. No
// type of gRPC, shared memory or any other carrier appears here.
//
// A carrier implements MessageStream (both ends) and Transport (the client's side), and calls a StreamAcceptor (the
// worker's side). Everything that differs between jobs, sessions and workers is in the messages.
//
// Rules for calls and events:
//   - MessageStream's functions are thread-safe. StartRead, StartWrite and Close start an operation and return: they
//     never block, and never run an event inside the call. After Close or OnClosed they do nothing.
//   - At most one read and one write are in progress. StartRead may be called again as soon as its OnMessage has begun,
//     also inside that event. The same holds for StartWrite and OnWritten.
//   - Events run on the carrier's threads and must not block. OnMessage and OnWritten may run concurrently with each
//     other, but neither runs concurrently with itself. OnClosed runs once, after all other events have returned, even
//     if the stream could not be opened. The carrier then releases the events object.
//   - A message arrives complete or not at all, in the order sent and with its bytes unchanged. The boundaries of its
//     slices may differ. Its slices stay valid while any reference to them exists, even after the stream has closed. A
//     carrier may count messages that the reader retains as unread, and delay OnWritten while they are large.
#ifndef PENSTOCK_TRANSPORT_MESSAGE_STREAM_H_
#define PENSTOCK_TRANSPORT_MESSAGE_STREAM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/block_memory.h"
#include "transport/peer.h"
#include "transport/slice.h"

namespace penstock::transport {

// Events of one end of a stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Delivers the message that a StartRead requested.
  virtual void OnMessage(SliceList message) = 0;
  // Reports that the carrier accepted the message of the last StartWrite: the next write may start. The message may
  // still be on its way. A carrier holds a bounded number of bytes, so writes stop when the peer does not read.
  virtual void OnWritten() = 0;
  // Reports the end of the stream. At the client: the status with which the worker closed the stream (OK: a regular
  // end), Unavailable if the worker cannot be reached or was lost, or Cancelled after the client's own Close. At the
  // worker: OK if the client has disconnected, the status of the worker's own Close, or an error of the carrier.
  virtual void OnClosed(const absl::Status& status) = 0;
};

// One end of a stream. Thread-safe. The functions may be called inside an event, and never block.
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // Requests the next message: one OnMessage or OnClosed follows. Must not be called again before that OnMessage.
  virtual void StartRead() = 0;
  // Sends one complete message of at most 64 MiB: one OnWritten or OnClosed follows. Must not be called again before
  // that OnWritten. The bytes of the slices must not change. The carrier releases the slices on one of its threads when
  // it no longer needs them.
  virtual void StartWrite(SliceList message) = 0;
  // Ends the stream. Further calls have no effect. OnClosed follows at both ends; at this end it follows within a
  // bounded time, whatever the peer does.
  //   at the worker   accepted messages (OnWritten) still arrive if the client reads; the client then gets `status`
  //   at the client   the worker is notified at once; sent messages that the client did not read are dropped;
  //                   `status` stays at the client
  virtual void Close(absl::Status status) = 0;
  // Returns memory for messages: StartWrite sends messages in this memory without a copy. Returns null if the carrier
  // has no such memory. Blocks of this memory are for messages only.
  virtual std::shared_ptr<BlockMemory> send_memory() { return nullptr; }
  // The bytes outside of send_memory() that the carrier sends without a copy: none, those in its shared row files
  // (base/shared_row_files.h), or all.
  enum class SendsFrom { kNowhere, kSharedRowFiles, kAnywhere };
  virtual SendsFrom sends_from() const { return SendsFrom::kNowhere; }
  // Returns the process at the other end, as the carrier knows it. At the worker it is known in Accept and never
  // changes. At the client it is Peer() until the carrier is chosen, and may be Peer() after OnClosed.
  virtual Peer peer() const = 0;
  // Returns the carrier's name for display: "grpc", "grpc x2" (connections), "shared memory", "in-process". Empty until
  // the carrier is chosen.
  virtual std::string_view carrier() const = 0;
  // Returns why the stream does not use a faster carrier that the worker offers to this host, or "". Does not change
  // after the first message has arrived.
  virtual std::string carrier_note() const { return ""; }
};

// Addresses of a worker.
struct WorkerAddress {
  WorkerAddress() = default;
  WorkerAddress(std::string to) : network(std::move(to)) {}  // NOLINT: most callers know only this address
  WorkerAddress(const char* to) : network(to) {}             // NOLINT
  WorkerAddress(std::string to, std::string here, std::string certified_name = "")
      : network(std::move(to)), local(std::move(here)), tls_name(std::move(certified_name)) {}

  std::string network;   // host:port
  std::string local;     // address for processes of the worker's host (transport/shared_memory); empty: use `network`
  std::string tls_name;  // name in the worker's certificate; empty: it serves plaintext
  // Returns the ticket that each connection shows now, or "". Thread-safe. Unset: no ticket.
  std::function<std::string()> ticket;
};

// The client's side of a carrier. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Opens a stream to `worker`. Returns without waiting for the connection; StartRead and StartWrite may be called at
  // once. The carrier holds `events` until its OnClosed has returned. The stream lives while any reference to it
  // exists.
  virtual std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) = 0;
};

// The worker's side of a carrier: accepts the streams that clients open.
class StreamAcceptor {
 public:
  virtual ~StreamAcceptor() = default;
  // Returns the events object of a new stream. The carrier calls this on any thread, before any event of the stream. It
  // must not block. The carrier holds the returned object until its OnClosed has returned.
  virtual std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) = 0;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_MESSAGE_STREAM_H_
