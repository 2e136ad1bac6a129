// The data plane's seam: streams of messages between a client and a worker, whatever carries them. No type of gRPC's,
// of shared memory's or of any other carrier shows here.
//
// A carrier implements MessageStream (both ends), Transport (the client's side) and calls a StreamAcceptor (the
// worker's side). Everything that differs between jobs, sessions and workers is in the messages.
//
// Who calls what, and when:
//   - MessageStream's functions are thread-safe, start something and return: they never block, and never call an event
//     before they return. After OnClosed, and after Close, they do nothing.
//   - At most one read and one write are under way: StartRead may be called again once its OnMessage was called (inside
//     it too), StartWrite likewise after OnWritten.
//   - Events come on threads of the carrier, which must not be held up: no event handler blocks. OnMessage and
//     OnWritten may come at the same time, each never twice at a time. OnClosed comes once, after all others have
//     returned, also when the stream could never be opened; the carrier then lets go of the events object.
//   - A message arrives whole or not at all, in the order sent, with its bytes as they were; how it is cut into slices
//     may differ. Its slices stay valid as long as somebody keeps them, also after the stream has closed. What a reader
//     keeps of the last messages may count as not read: a carrier holds the writer back when it is much.
#ifndef PENSTOCK_TRANSPORT_MESSAGE_STREAM_H_
#define PENSTOCK_TRANSPORT_MESSAGE_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/block_memory.h"
#include "transport/slice.h"

namespace penstock {

// What happens to one end of a stream.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // The message that a StartRead asked for.
  virtual void OnMessage(SliceList message) = 0;
  // The carrier has taken the message of the last StartWrite: the next may be written. What it holds is not yet at the
  // other end, and a carrier holds a bounded number of bytes: a peer that reads nothing lets no more writes through.
  virtual void OnWritten() = 0;
  // The end. At the client: how the worker closed it (OK: in order), or Unavailable when it cannot be reached or was
  // lost, or Cancelled after an own Close. At the worker: OK when the client has gone, else the status of the own
  // Close.
  virtual void OnClosed(const absl::Status& status) = 0;
};

// One end of a stream. All functions: any thread, also inside an event; they return at once. Does nothing after Close
// or OnClosed.
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // Asks for the next message: one OnMessage follows, or OnClosed. Not again before that OnMessage.
  virtual void StartRead() = 0;
  // Hands over one whole message, at most 64 MiB: one OnWritten follows, or OnClosed. Not again before that OnWritten.
  // The slices' bytes must not change; they are let go of, on a thread of the carrier, once the carrier is done with
  // them.
  virtual void StartWrite(SliceList message) = 0;
  // Ends the stream; again it does nothing. OnClosed follows at both ends, here within a bounded time whatever the peer
  // does.
  //   at the worker   what was taken (OnWritten) still arrives, where the client reads; then the client is told
  //                   `status`
  //   at the client   the worker is told at once; what it has sent and was not read is dropped; `status` stays here
  virtual void Close(absl::Status status) = 0;
  // Memory that messages for StartWrite may lie in so that they are sent without being copied; null where that makes no
  // difference. Its blocks are for that alone.
  virtual std::shared_ptr<BlockMemory> send_memory() { return nullptr; }
  // Which bytes that lie elsewhere it sends from where they are: none, those of lent files (base/lent_files.h) that it
  // knows, or all.
  enum class SendsFrom { kNowhere, kLentFiles, kAnywhere };
  virtual SendsFrom sends_from() const { return SendsFrom::kNowhere; }
  // What carries it, for people: "grpc", "shared memory"; empty while that is not decided.
  virtual std::string_view carrier() const = 0;
};

// Where a worker is.
struct WorkerAddress {
  WorkerAddress() = default;
  WorkerAddress(std::string to) : network(std::move(to)) {}  // NOLINT: most know no more of it
  WorkerAddress(const char* to) : network(to) {}             // NOLINT
  WorkerAddress(std::string to, std::string here) : network(std::move(to)), local(std::move(here)) {}

  std::string network;  // host:port
  std::string local;    // how processes of its own host reach it (transport/shared_memory); empty: as all others do
};

// The client's side of a carrier. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  // Opens a stream to `worker`; returns at once, before it is known whether there is one. Messages may
  // be written at once. `events` lives until its OnClosed has returned, the stream as long as somebody holds it.
  virtual std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) = 0;
};

// The worker's side: is told of each stream that a client opens.
class StreamAcceptor {
 public:
  virtual ~StreamAcceptor() = default;
  // Called on a thread of the carrier, before any event of the stream; must not block. The carrier keeps what is
  // returned until its OnClosed has returned.
  virtual std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_MESSAGE_STREAM_H_
