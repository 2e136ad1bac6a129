// Both ends of a stream over a socket and a ring: all on the loop's thread.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_STREAM_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_STREAM_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/lent_files.h"
#include "base/owned_fd.h"
#include "base/packet_socket.h"
#include "base/runtime/executor.h"
#include "base/sealed_memory.h"
#include "transport/message_stream.h"
#include "transport/shared_memory/message_parts.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/poll_loop.h"
#include "transport/shared_memory/ring.h"

namespace penstock {

// From a worker's Close until a stream is broken off whose client does not read what is on its way to it.
constexpr Nanos kSharedMemoryCloseGrace = 2 * kSecond;

// What the client sends is read as it comes, also while the worker's StartRead is awaited: releases are among it. So
// its messages wait here, up to a bound. What the worker sends is read only when the client asks for it.
class SharedMemoryStream final : public MessageStream,
                                 public PollLoop::Watcher,
                                 public std::enable_shared_from_this<SharedMemoryStream> {
 public:
  // `timers` keeps the time of closing; it outlives the loop's thread.
  static std::shared_ptr<SharedMemoryStream> OfWorker(std::shared_ptr<PollLoop> loop, Executor* timers,
                                                      PacketSocket socket, std::shared_ptr<Ring> ring,
                                                      std::shared_ptr<const LentFiles> lent = nullptr);
  static std::shared_ptr<SharedMemoryStream> OfClient(std::shared_ptr<PollLoop> loop, Executor* timers,
                                                      PacketSocket socket, std::shared_ptr<const SealedMemory> ring);

  // On the loop's thread, once: events come from now on.
  void Begin(std::shared_ptr<StreamEvents> events);

  void StartRead() override;
  void StartWrite(SliceList message) override;
  void Close(absl::Status status) override;
  std::shared_ptr<BlockMemory> send_memory() override { return ring_; }
  SendsFrom sends_from() const override { return lends_ ? SendsFrom::kLentFiles : SendsFrom::kNowhere; }
  std::string_view carrier() const override { return kCarrier; }
  static constexpr std::string_view kCarrier = "shared memory";

  void OnReady(uint32_t events) override;
  void OnLoopEnds() override;

 private:
  struct Private {};

 public:
  SharedMemoryStream(Private, std::shared_ptr<PollLoop> loop, Executor* timers, PacketSocket socket,
                     std::shared_ptr<Ring> ring, std::shared_ptr<const LentFiles> lent);

 private:
  bool OfClient() const { return ring_ == nullptr; }
  bool ReadsOn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // Reads while there is something and somebody wants it.
  void Receive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // `fd` came with the packet.
  absl::Status Handle(std::string_view bytes, OwnedFd fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void Deliver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // Sends while the socket takes it.
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // To packet_ and packet_file_; an empty packet: there is none.
  void NextPacket() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void SayWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void Released(uint64_t message);  // at the client, any thread
  void CloseHere(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void WatchFor() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  // The end, once.
  void Finish(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_);
  void Post(void (SharedMemoryStream::*step)());
  void ReadWanted();

  const std::shared_ptr<PollLoop> kept_loop_;
  PollLoop* const loop_;
  Executor* const timers_;
  const std::shared_ptr<Ring> ring_;  // of the worker's end
  const bool lends_;
  const uint64_t window_;  // bytes of the ring that the client has and did not release: no more is taken

  std::optional<PacketSocket> socket_ ABSL_GUARDED_BY(loop_);  // none after the end
  std::shared_ptr<StreamEvents> events_ ABSL_GUARDED_BY(loop_);
  uint64_t watch_ ABSL_GUARDED_BY(loop_) = 0;
  uint32_t watched_for_ ABSL_GUARDED_BY(loop_) = 0;

  bool reading_ ABSL_GUARDED_BY(loop_) = false;  // a StartRead is open
  IncomingMessages incoming_ ABSL_GUARDED_BY(loop_);
  std::deque<SliceList> arrived_ ABSL_GUARDED_BY(loop_);  // not asked for yet
  uint64_t arrived_bytes_ ABSL_GUARDED_BY(loop_) = 0;

  bool writing_ ABSL_GUARDED_BY(loop_) = false;  // a StartWrite is open
  ToldFiles told_ ABSL_GUARDED_BY(loop_);
  std::optional<OutgoingMessage> outgoing_ ABSL_GUARDED_BY(loop_);
  uint64_t sent_ ABSL_GUARDED_BY(loop_) = 0;                               // messages
  std::string packet_ ABSL_GUARDED_BY(loop_);                              // that the socket did not take yet
  std::shared_ptr<const LentFile> packet_file_ ABSL_GUARDED_BY(loop_);     // that goes with it; null: none
  std::deque<uint64_t> to_release_ ABSL_GUARDED_BY(loop_);                 // at the client
  bool full_ ABSL_GUARDED_BY(loop_) = false;                               // the socket took no more
  bool deaf_ ABSL_GUARDED_BY(loop_) = false;                               // the other side takes nothing any more
  std::map<uint64_t, OutgoingMessage::Kept> kept_ ABSL_GUARDED_BY(loop_);  // at the worker, by message
  uint64_t kept_bytes_ ABSL_GUARDED_BY(loop_) = 0;

  std::optional<absl::Status> closing_ ABSL_GUARDED_BY(loop_);  // the worker's Close
  bool close_said_ ABSL_GUARDED_BY(loop_) = false;
  bool over_ ABSL_GUARDED_BY(loop_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_STREAM_H_
