// One end of a stream over a socket and a ring. All work runs on the loop's thread.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_STREAM_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_STREAM_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/owned_fd.h"
#include "base/packet_socket.h"
#include "base/runtime/executor.h"
#include "base/sealed_memory.h"
#include "base/shared_row_files.h"
#include "transport/message_stream.h"
#include "transport/peer.h"
#include "transport/shared_memory/message_parts.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/poll_loop.h"
#include "transport/shared_memory/ring.h"

namespace penstock::transport {

// Time from a worker's Close until it aborts a stream whose client does not read the remaining messages.
constexpr Nanos kSharedMemoryCloseGrace = 2 * kSecond;

// The worker's end reads the client's packets as they arrive, even if no StartRead is open, because RELEASE packets are
// among them. It therefore queues the client's messages up to a limit. The client's end reads the worker's packets only
// while a StartRead is open.
class SharedMemoryStream final : public MessageStream,
                                 public PollLoop::Watcher,
                                 public std::enable_shared_from_this<SharedMemoryStream> {
 public:
  // `timers` runs the timers for closing and must outlive the loop's thread. OfClient must be called on that thread.
  static std::shared_ptr<SharedMemoryStream> OfWorker(std::shared_ptr<PollLoop> loop, Executor* timers, Peer peer,
                                                      PacketSocket socket, std::shared_ptr<Ring> ring,
                                                      std::shared_ptr<const SharedRowFiles> files = nullptr);
  static std::shared_ptr<SharedMemoryStream> OfClient(std::shared_ptr<PollLoop> loop, Executor* timers, Peer peer,
                                                      PacketSocket socket, std::shared_ptr<const SealedMemory> ring);

  // Starts the stream: events may run, also inside this call. Call it once, on the loop's thread.
  void Begin(std::shared_ptr<StreamEvents> events);

  void StartRead() override;
  void StartWrite(SliceList message) override;
  void Close(absl::Status status) override;
  std::shared_ptr<BlockMemory> send_memory() override { return ring_; }
  SendsFrom sends_from() const override { return shares_rows_ ? SendsFrom::kSharedRowFiles : SendsFrom::kNowhere; }
  Peer peer() const override { return peer_; }
  std::string_view carrier() const override { return kCarrier; }
  static constexpr std::string_view kCarrier = "shared memory";

  void OnReady(uint32_t events) override;
  void OnLoopEnds() override;

 private:
  struct Private {};

 public:
  SharedMemoryStream(Private, std::shared_ptr<PollLoop> loop, Executor* timers, Peer peer, PacketSocket socket,
                     std::shared_ptr<Ring> ring, std::shared_ptr<const SharedRowFiles> files);

 private:
  bool OfClient() const { return ring_ == nullptr; }
  bool ReadsOn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // Reads packets while there are any and this end wants them.
  void Receive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // `fd` arrived with the packet.
  absl::Status Handle(std::string_view bytes, OwnedFd fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void Deliver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // Sends packets while the socket accepts them.
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // Fills packet_ and packet_file_. An empty packet means that there is none.
  void NextPacket() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void SayWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void Released(uint64_t message);  // at the client; any thread may call it
  void CloseHere(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void WatchFor() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // Ends the stream once.
  void Finish(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void Post(void (SharedMemoryStream::*step)());
  void ReadWanted();

  const std::shared_ptr<PollLoop> kept_loop_;
  PollLoop* const loop_;
  Executor* const timers_;
  const Peer peer_;
  const std::shared_ptr<Ring> ring_;  // at the worker's end
  const bool shares_rows_;
  // OnWritten waits while the client holds at least two messages with more than this number of bytes.
  const uint64_t window_;

  std::optional<PacketSocket> socket_ ABSL_GUARDED_BY(loop_);  // nullopt after the end
  std::shared_ptr<StreamEvents> events_ ABSL_GUARDED_BY(loop_);
  uint64_t watch_ ABSL_GUARDED_BY(loop_) = 0;
  uint32_t watched_for_ ABSL_GUARDED_BY(loop_) = 0;

  bool reading_ ABSL_GUARDED_BY(loop_) = false;  // a StartRead is open
  IncomingMessages incoming_ ABSL_GUARDED_BY(loop_);
  std::deque<SliceList> arrived_ ABSL_GUARDED_BY(loop_);  // messages that no StartRead requested yet
  uint64_t arrived_bytes_ ABSL_GUARDED_BY(loop_) = 0;

  bool writing_ ABSL_GUARDED_BY(loop_) = false;  // a StartWrite is open
  AnnouncedFiles announced_ ABSL_GUARDED_BY(loop_);
  std::optional<OutgoingMessage> outgoing_ ABSL_GUARDED_BY(loop_);
  uint64_t sent_ ABSL_GUARDED_BY(loop_) = 0;                                 // number of messages sent
  std::string packet_ ABSL_GUARDED_BY(loop_);                                // not yet accepted by the socket
  std::shared_ptr<const SharedRowFile> packet_file_ ABSL_GUARDED_BY(loop_);  // file to send with packet_; null: none
  std::deque<uint64_t> to_release_ ABSL_GUARDED_BY(loop_);                   // at the client
  bool full_ ABSL_GUARDED_BY(loop_) = false;                                 // the socket accepts no more
  bool deaf_ ABSL_GUARDED_BY(loop_) = false;                                 // the peer no longer reads
  std::map<uint64_t, OutgoingMessage::Kept> kept_ ABSL_GUARDED_BY(loop_);    // at the worker, by message
  uint64_t kept_bytes_ ABSL_GUARDED_BY(loop_) = 0;

  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(loop_);  // status of the worker's Close
  bool close_said_ ABSL_GUARDED_BY(loop_) = false;
  bool over_ ABSL_GUARDED_BY(loop_) = false;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_STREAM_H_
