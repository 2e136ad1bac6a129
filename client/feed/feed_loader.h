// One loader of a trainer: its socket, and the thread that brings its batches.
//
//   control thread: OnPacket ─▶ what is wanted ─▶ the loader's thread: open, Next, slot, BATCH
#ifndef PENSTOCK_CLIENT_FEED_FEED_LOADER_H_
#define PENSTOCK_CLIENT_FEED_FEED_LOADER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/packet_socket.h"
#include "base/runtime/clock.h"
#include "client/feed/batch_arena.h"
#include "client/feed/messages.h"
#include "client/feed/slot_table.h"
#include "penstock/client.h"
#include "penstock/v1/feed.pb.h"
#include "pipeline/plan/state.h"

namespace penstock::feed {

// Opens the reader of a loader. `options` has all but the job; its epochs are 0. May take long; `stop` ends it soon.
using OpenReader = std::function<absl::StatusOr<std::unique_ptr<Reader>>(
    const v1::FeedOpen& open, const ReaderOptions& options, const std::atomic<bool>& stop)>;

// What the loaders of a feeder share. Outlives them.
struct FeedShared {
  BatchArena* arena = nullptr;
  SlotTable* slots = nullptr;
  OpenReader open_reader;
  std::function<void(Json* numbers)> add_stats;  // numbers of all its loaders, for each one's; null: none
  Nanos idle_after = kSecond;                    // without a wish: what was prepared is let go
  Nanos notice_after = 3 * kSecond;              // of a wait; then every notice_every
  Nanos notice_every = 5 * kSecond;
};

class FeedLoader {
 public:
  // Begins. `ended` is called once, on the loader's thread, as the last thing that it does.
  FeedLoader(FeedShared* shared, PacketSocket socket, v1::FeedOpen open, std::function<void()> ended);
  // Waits for its thread: Stop, and then `ended`, come before.
  ~FeedLoader();

  int fd() const { return socket_.fd(); }

  // What the trainer has sent; see PacketSocket::Receive. On the control thread.
  absl::StatusOr<std::optional<ReceivedPacket>> Receive() const { return socket_.Receive(); }
  // On the control thread; never blocks. An error: the trainer broke the protocol, or has closed the socket
  // (OutOfRange); then Stop.
  absl::Status OnPacket(const Packet& packet);
  // Ends the thread soon.
  void Stop();

 private:
  struct Sent {
    uint64_t sequence = 0;
    SlotName name;
    std::string packet;
  };
  struct Start {
    uint32_t stream = 1;
    uint64_t epoch = 0;
    std::string state;
    bool accept_new_pipeline = false;
    bool answered = false;  // SOUGHT was sent, or OPENED
  };

  // Of the loader's thread.
  void Run();
  bool EnsureOpen();
  void Announce();
  void NextBatch();
  void SendBatch(Batch batch);
  void Fail(const absl::Status& status);
  void Notice(const std::string& text);
  void Tell(Type type, uint32_t stream, std::string_view body) const;
  void LetReaderGo();
  absl::Status WithWhoHolds(const absl::Status& status) const;

  // Of the control thread.
  absl::Status OnWant(uint32_t stream, const Want& want);
  absl::Status OnSeek(uint32_t stream, const v1::FeedSeek& seek);
  absl::Status OnAsk(const v1::FeedAsk& ask);
  std::string StatsJson();

  FeedShared* const shared_;
  const PacketSocket socket_;
  const v1::FeedOpen open_;
  const std::function<void()> ended_;
  std::atomic<bool> stop_{false};

  Mutex mutex_;
  CondVar changed_;
  std::optional<Start> seek_ ABSL_GUARDED_BY(mutex_);
  uint32_t stream_ ABSL_GUARDED_BY(mutex_) = 1;             // the newest that the trainer has named
  uint64_t wanted_until_ ABSL_GUARDED_BY(mutex_) = 0;       // batches of stream_ before this one are wanted
  bool again_ ABSL_GUARDED_BY(mutex_) = false;              // what is in sent_ is to be sent again
  std::deque<Sent> sent_ ABSL_GUARDED_BY(mutex_);           // and not accepted, as far as is known
  std::optional<uint64_t> failed_ ABSL_GUARDED_BY(mutex_);  // the sequence that failed: not tried again by itself
  std::string waiting_for_ ABSL_GUARDED_BY(mutex_);
  Reader* reading_ ABSL_GUARDED_BY(mutex_) = nullptr;  // reader_, for Cancel and Stats
  ReaderStats before_ ABSL_GUARDED_BY(mutex_);         // of readers that are gone

  // Of the loader's thread.
  Start start_;             // of the stream that is read
  bool announced_ = false;  // OPENED was sent
  std::unique_ptr<Reader> reader_;
  std::string state_;  // behind the last batch
  uint64_t next_sequence_ = 0;
  uint64_t step_base_ = 0;  // position that steps of base_epoch_ are counted from
  uint64_t base_epoch_ = 0;
  uint64_t global_batch_ = 0;
  uint32_t window_ = 0;  // 0: as OPEN says; less after the arena was full
  Nanos waiting_since_ = 0, noticed_ = 0;

  std::thread thread_;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_FEED_LOADER_H_
