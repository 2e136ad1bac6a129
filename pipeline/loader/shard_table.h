// The shards of a snapshot: which have their index here and are open, which are being brought, which cannot be.
#ifndef PENSTOCK_PIPELINE_LOADER_SHARD_TABLE_H_
#define PENSTOCK_PIPELINE_LOADER_SHARD_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/prefetch.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/records/shard_reader.h"

namespace penstock {

// Thread-safe. Indexes are brought and files opened on an executor, once for all who wait; no lock is held meanwhile.
// Keeps a bounded number of files open, and of indexes in memory: those that were not used for longest go.
//
// A shard is *ready* when asking for it does not wait: its index is here (and its file open, where storage does not
// answer at once), or it failed so lately that asking again would say the same.
//
// Errors: FailedPrecondition: the file is not the snapshot's. ResourceExhausted: a record is over the limit.
// Unavailable: this machine cannot have it just now. Each names the file; failures that may pass are tried again as
// often as somebody asks, at most every two seconds.
class ShardTable : public std::enable_shared_from_this<ShardTable> {
 public:
  ShardTable(Storage* storage, Snapshot snapshot, std::vector<DataRoot> roots, IndexProvider indexes,
             const DatasetReader::Options& options);

  const Snapshot& snapshot() const { return snapshot_; }
  // Whether the storage of every shard does just now (Storage::HasLowLatency).
  bool AllAnswerAtOnce() const;

  bool IsReady(uint32_t number);
  // The waiter is told when the shard is ready: perhaps at once, inside the call. Not told, and forgotten, when it is
  // gone before. Never blocks.
  void WhenReady(uint32_t number, std::shared_ptr<ReadyWaiter> waiter);
  // It will be wanted: begins to bring it. Never blocks.
  void Want(uint32_t number);

  // These wait where the shard is not ready.
  absl::StatusOr<std::shared_ptr<const ShardIndex>> Index(uint32_t number);
  absl::StatusOr<std::shared_ptr<const ShardReader>> Reader(uint32_t number);
  // The open file; null where it is not.
  std::shared_ptr<const ShardReader> OpenReader(uint32_t number);
  // The index that is here; null where none is.
  std::shared_ptr<const ShardIndex> KnownIndex(uint32_t number);

  // What a read through `reader` found: the file is another than was indexed, so that its index is brought anew; or
  // reading failed, so that it is opened again, after a pause; or all is well. Each returns at once.
  void FoundChanged(uint32_t number, const ShardReader& reader);
  void FoundFailing(uint32_t number, const ShardReader& reader, const absl::Status& status);
  void FoundWell(uint32_t number);

  // As people know it: the path below its root, absolute where the root is ours.
  std::string PathOf(uint32_t number) const;

  // Ends what is under way, soon, and does not wait for it: who waits is told Cancelled.
  void Stop() { stop_.request_stop(); }

 private:
  // What each row touches comes first: of thousands of shards, each line of the processor's cache is a miss.
  struct alignas(64) Shard {
    Mutex mutex;
    std::shared_ptr<const ShardIndex> index ABSL_GUARDED_BY(mutex);
    absl::Status failure ABSL_GUARDED_BY(mutex);
    std::shared_ptr<const ShardReader> reader ABSL_GUARDED_BY(mutex);
    Nanos paused_until ABSL_GUARDED_BY(mutex) = 0;  // reading failed: not opened again before
    std::atomic<bool> used{false};                  // since the hand came by
    std::atomic<bool> troubled{false};              // it is among the troubles
    bool loading ABSL_GUARDED_BY(mutex) = false;
    int tries ABSL_GUARDED_BY(mutex) = 0;  // of this load
    // Of an index that had to go: where somebody has it still it is taken back.
    std::weak_ptr<const ShardIndex> gone ABSL_GUARDED_BY(mutex);
    int failures ABSL_GUARDED_BY(mutex) = 0;        // loads in a row that came to nothing
    Nanos said_at ABSL_GUARDED_BY(mutex) = 0;       // when it began, or was last said to be long in coming
    Nanos failed_until ABSL_GUARDED_BY(mutex) = 0;  // the failure is not looked into again before
    std::vector<std::weak_ptr<ReadyWaiter>> waiters ABSL_GUARDED_BY(mutex);
    CondVar loaded;

    // The record is read next: the index and the reader come at once, and not one after the other, since counting who
    // has them waits for each.
    void Prefetch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      PrefetchObject(index.get());
      PrefetchLine(reader.get());
    }
  };
  struct Loaded {
    std::shared_ptr<const ShardIndex> index;
    std::shared_ptr<const ShardReader> reader;
  };
  class LoadTurn;

  bool ReadyNow(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  // Begins to load, on the executor, at `when`; `loading` is set already.
  void PostLoad(uint32_t number, Nanos when);
  // What came; nothing where it is to be tried again.
  std::optional<absl::StatusOr<Loaded>> RunLoad(uint32_t number);
  absl::StatusOr<Loaded> Load(uint32_t number, std::shared_ptr<const ShardIndex> index);
  absl::StatusOr<std::shared_ptr<const ShardIndex>> BringIndex(uint32_t number, const std::string& path);
  // The end of a load: keeps what came, and tells all. A failure that may pass is tried again a few times first;
  // false then, when there is to be another try at *again.
  bool FinishLoad(uint32_t number, absl::StatusOr<Loaded> loaded, bool last, Nanos* again);
  // Waits until it is ready, or was. Loads it on this thread where nobody does, and returns what came: with tight
  // limits the table may have let go of it again.
  std::optional<absl::StatusOr<Loaded>> MakeReady(uint32_t number);
  void SetReader(Shard* shard, std::shared_ptr<const ShardReader> reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  void DropIndex(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  void Trim();

  std::vector<std::string> OneOfEachRoot() const;
  absl::StatusOr<std::string> Resolve(uint32_t number) const;
  absl::StatusOr<std::shared_ptr<const ShardReader>> OpenFileOf(const std::string& path,
                                                                const std::shared_ptr<const ShardIndex>& index) const;
  absl::Status Changed(uint32_t number, absl::string_view why) const;
  absl::Status Unreadable(uint32_t number, const absl::Status& status) const;
  void SayTrouble(uint32_t number, const absl::Status& status);

  const Snapshot snapshot_;
  const std::vector<DataRoot> roots_;
  const IndexProvider indexes_;
  const DatasetReader::Options options_;
  Storage* const storage_;
  const std::vector<std::string> one_of_each_root_;  // paths: what a storage says of one it says of all
  Executor* const executor_;
  Clock* const clock_;
  std::stop_source stop_;
  std::vector<Shard> shards_;
  std::atomic<uint64_t> open_{0}, index_bytes_{0};
  // Taken before a shard's mutex, never after it.
  Mutex hand_mutex_;
  size_t hand_ ABSL_GUARDED_BY(hand_mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_SHARD_TABLE_H_
