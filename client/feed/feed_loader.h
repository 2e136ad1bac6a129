// One loader of a trainer: its socket, and the thread that fetches its batches.
//
//   control thread: OnPacket ─▶ requested batches ─▶ the loader's thread: open, Next, slot, BATCH
#ifndef PENSTOCK_CLIENT_FEED_FEED_LOADER_H_
#define PENSTOCK_CLIENT_FEED_FEED_LOADER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/packet_socket.h"
#include "base/runtime/clock.h"
#include "client/feed/batch_arena.h"
#include "client/feed/epoch_warnings.h"
#include "client/feed/messages.h"
#include "client/feed/slot_table.h"
#include "penstock/client.h"
#include "penstock/v1/feed.pb.h"
#include "pipeline/plan/state.h"

namespace penstock::feed {

// Opens the reader of a loader. `options` has all options except the job, and unlimited epochs. May block for long. If
// `stop` becomes true, the open of a served job ends within 7 s.
using OpenReader = std::function<absl::StatusOr<std::unique_ptr<Reader>>(
    const v1::FeedOpen& open, const ReaderOptions& options, const std::atomic<bool>& stop)>;

// State that the loaders of a feeder share. Must outlive them.
struct FeedShared {
  BatchArena* arena = nullptr;
  SlotTable* slots = nullptr;
  OpenReader open_reader;
  std::function<void(Json* numbers)> add_stats;  // adds numbers of all loaders to one loader's statistics; null: none
  EpochWarnings epoch_warnings;                  // null: none
  Clock* clock = Clock::Real();                  // of waits
  Nanos idle_after = kSecond;                    // time without a wanted batch after which a loader closes its reader

  // Returns true for the first notice with this text.
  bool IsNew(const std::string& notice) {
    MutexLock lock(&mutex);
    return told.insert(notice).second;
  }
  Mutex mutex;
  std::set<std::string> told ABSL_GUARDED_BY(mutex);
};

class FeedLoader {
 public:
  // Starts the loader. Calls `ended` once, as the last action of the loader's thread, or here if the thread cannot
  // start.
  FeedLoader(FeedShared* shared, PacketSocket socket, v1::FeedOpen open, std::function<void()> ended);
  // Stops the loader and blocks until the thread has ended.
  ~FeedLoader();

  int fd() const { return socket_.fd(); }

  // Receives a packet from the trainer; see PacketSocket::Receive. For the control thread.
  absl::StatusOr<std::optional<ReceivedPacket>> Receive() const { return socket_.Receive(); }
  // Handles a packet on the control thread. Never blocks. Returns an error if the trainer violated the protocol, or if
  // an answer could not be sent. After an error the caller must call Stop.
  absl::Status OnPacket(const Packet& packet);
  // Requests the end of the thread. Does not wait for it.
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
    bool continues = false;  // true for a loader whose feeder ended during the run
    bool answered = false;   // SOUGHT or OPENED was sent
  };
  // An open of a reader.
  struct Opening {
    std::atomic<bool> runs{true};
    Nanos since = 0;
    Nanos noticed = 0;  // age of the wait at its last notice
  };

  // Functions of the loader's thread.
  void Run();
  bool EnsureOpen();
  void Announce();
  void WarnOfEpochs();
  void NextBatch();
  void SendBatch(Batch batch);
  void Fail(const absl::Status& status);
  // Reports the wait of an open at the ages of notice_times.h, with its whole length. Its pieces begin at 0 each time.
  // Runs on a thread of the reader that opens.
  void WaitsToOpen(Opening* opening, const std::string& text);
  void Notice(const std::string& text);  // any thread
  // Stores the description of the missing rows. For a local job, also reports the cause of the wait to the trainer at
  // the ages of notice_times.h.
  void Waits(const std::string& missing);
  void Tell(Type type, uint32_t stream, std::string_view body) const;
  void LetReaderGo();
  absl::Status WithWhoHolds(const absl::Status& status) const;

  // Functions of the control thread.
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
  uint32_t stream_ ABSL_GUARDED_BY(mutex_) = 1;             // the newest stream that the trainer has named
  uint64_t wanted_until_ ABSL_GUARDED_BY(mutex_) = 0;       // the trainer wants batches of stream_ before this one
  bool again_ ABSL_GUARDED_BY(mutex_) = false;              // resend the packets in sent_
  std::deque<Sent> sent_ ABSL_GUARDED_BY(mutex_);           // sent and, as far as is known, not accepted
  std::optional<uint64_t> failed_ ABSL_GUARDED_BY(mutex_);  // failed sequence number: no automatic retry
  std::string waiting_for_ ABSL_GUARDED_BY(mutex_);
  Reader* reading_ ABSL_GUARDED_BY(mutex_) = nullptr;  // reader_, for Cancel and Stats
  ReaderStats before_ ABSL_GUARDED_BY(mutex_);         // statistics of earlier readers

  // State of the loader's thread.
  Start start_;             // start of the current stream
  bool announced_ = false;  // OPENED was sent
  std::unique_ptr<Reader> reader_;
  std::string state_;  // state after the last batch
  uint64_t next_sequence_ = 0;
  uint64_t global_batch_ = 0;
  uint32_t window_ = 0;  // 0: as OPEN requests; smaller after the arena was full
  Nanos waiting_since_ = 0;
  Nanos noticed_ = 0;  // age of the wait at its last notice

  std::thread thread_;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_FEED_LOADER_H_
