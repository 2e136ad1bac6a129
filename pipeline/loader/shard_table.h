// The shards of a snapshot, their indexes and open files.
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
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::loader {

// Thread-safe. Loads indexes and opens files on an executor, once for all callers, and holds no lock meanwhile. Keeps a
// bounded number of files open and a bounded size of indexes in memory, and evicts those that were not used recently.
//
// A shard is *ready* if calls for it do not block. Its index is then in memory. Its file is open too, if the storage of
// any root has high latency. A shard whose load failed is ready while the failure stands.
//
// Each error names the file:
//   FailedPrecondition  the file is not the snapshot's
//   ResourceExhausted   a record is longer than the limit
//   Unavailable         this machine cannot read the file or its index at present
//   Aborted             the file changed since it was indexed; from Reader() only
//   Cancelled           the table was stopped
// A failure stands for 250 ms, after further failures for up to 2 s. The next request after that loads the shard again.
class ShardTable : public std::enable_shared_from_this<ShardTable> {
 public:
  ShardTable(storage::Storage* storage, sources::Snapshot snapshot, std::vector<sources::DataRoot> roots,
             IndexProvider indexes, const DatasetReader::Options& options);

  const sources::Snapshot& snapshot() const { return snapshot_; }
  // Returns whether the storage of all roots has low latency: those of the shards, and of the files that their records
  // name, as far as indexes have been loaded. May change from call to call.
  bool AllAnswerAtOnce() const;

  bool IsReady(uint32_t number);
  // Notifies the waiter when the shard is ready, perhaps inside the call. Forgets it, without a notification, if it is
  // destroyed before. Never blocks.
  void WhenReady(uint32_t number, std::shared_ptr<ReadyWaiter> waiter);
  // Starts to load a shard that will be needed. Never blocks.
  void StartLoad(uint32_t number);

  // Block if the shard is not ready.
  absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> Index(uint32_t number);
  absl::StatusOr<std::shared_ptr<const sources::ShardReader>> Reader(uint32_t number);
  // Returns the open file, or null if it is not open.
  std::shared_ptr<const sources::ShardReader> OpenReader(uint32_t number);
  // Returns the index in memory, or null if there is none.
  std::shared_ptr<const sources::ShardIndex> KnownIndex(uint32_t number);

  // Report the result of a read through `reader`. FoundChanged: the file differs from the indexed one, so the table
  // indexes it again. FoundFailing: reading failed, so the table opens it again, after a pause. FoundWell: the read
  // succeeded. Each returns at once.
  void FoundChanged(uint32_t number, const sources::ShardReader& reader);
  void FoundFailing(uint32_t number, const sources::ShardReader& reader, const absl::Status& status);
  void FoundWell(uint32_t number);

  // Returns the path for messages: root path and path below it, or "root:path" if the root is not configured.
  std::string PathOf(uint32_t number) const;

  // Cancels loads in progress, and returns at once. The loads soon end with Cancelled and notify their waiters.
  void Stop() { stop_.request_stop(); }

 private:
  // The members that each row uses come first. With thousands of shards, each cache line of the processor is a miss.
  struct alignas(64) Shard {
    Mutex mutex;
    std::shared_ptr<const sources::ShardIndex> index ABSL_GUARDED_BY(mutex);
    absl::Status failure ABSL_GUARDED_BY(mutex);
    std::shared_ptr<const sources::ShardReader> reader ABSL_GUARDED_BY(mutex);
    Nanos paused_until ABSL_GUARDED_BY(mutex) = 0;  // reading failed: not opened again before this time
    std::atomic<bool> used{false};                  // since the hand last passed
    std::atomic<bool> reported_failing{false};      // reported as failing to Options::file_errors
    bool loading ABSL_GUARDED_BY(mutex) = false;
    int tries ABSL_GUARDED_BY(mutex) = 0;  // attempts of the current load
    // An index that was evicted. The table takes it back if it is still in use.
    std::weak_ptr<const sources::ShardIndex> gone ABSL_GUARDED_BY(mutex);
    int failures ABSL_GUARDED_BY(mutex) = 0;        // loads that failed in succession
    Nanos reported_at ABSL_GUARDED_BY(mutex) = 0;   // start of the load, or time of the last report that it takes long
    Nanos failed_until ABSL_GUARDED_BY(mutex) = 0;  // the failure stands until then
    std::vector<std::weak_ptr<ReadyWaiter>> waiters ABSL_GUARDED_BY(mutex);
    CondVar loaded;

    // Prefetches index and reader of a record that is read next. Both load in parallel; otherwise, counting their
    // references would wait for one after the other.
    void Prefetch() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      PrefetchObject(index.get());
      PrefetchLine(reader.get());
    }
  };
  struct Loaded {
    std::shared_ptr<const sources::ShardIndex> index;
    std::shared_ptr<const sources::ShardReader> reader;
  };
  class LoadTurn;

  bool ReadyNow(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  // Posts a load to the executor for time `when`. The caller has set `loading`.
  void PostLoad(uint32_t number, Nanos when);
  // Returns the result of a load, or nullopt if it will be tried again.
  std::optional<absl::StatusOr<Loaded>> RunLoad(uint32_t number);
  absl::StatusOr<Loaded> Load(uint32_t number, std::shared_ptr<const sources::ShardIndex> index);
  absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> FetchIndex(uint32_t number, const std::string& path);
  // Ends a load: stores its result and notifies all waiters. If the failure may be temporary and `last` is false, it
  // first returns false up to twice; the caller then tries again at *again.
  bool FinishLoad(uint32_t number, absl::StatusOr<Loaded> loaded, bool last, Nanos* again);
  // Blocks until the shard is ready or a load has ended. Loads it on this thread if no other thread does, and returns
  // the result, because with tight limits the table may have evicted it already.
  std::optional<absl::StatusOr<Loaded>> MakeReady(uint32_t number);
  void SetReader(Shard* shard, std::shared_ptr<const sources::ShardReader> reader)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  void DropIndex(Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex);
  void Trim();

  // A root that may have files that records name.
  struct RootOfFiles {
    std::string path;  // the path of a file in it, which need not exist
    std::atomic<bool> used{false};
  };

  std::vector<std::string> OneOfEachRoot() const;
  // Notes the roots of the files that the records of the index name, if they are not in the root of their shard.
  void NoteRootsOf(const sources::ShardIndex& index);
  absl::StatusOr<std::string> Resolve(uint32_t number) const;
  absl::StatusOr<std::shared_ptr<const sources::ShardReader>> OpenFileOf(
      const std::string& path, const std::shared_ptr<const sources::ShardIndex>& index) const;
  absl::Status Changed(uint32_t number, absl::string_view why) const;
  absl::Status Unreadable(uint32_t number, const absl::Status& status) const;
  void ReportError(uint32_t number, const absl::Status& status);

  const sources::Snapshot snapshot_;
  const std::vector<sources::DataRoot> roots_;
  const IndexProvider indexes_;
  const DatasetReader::Options options_;
  storage::Storage* const storage_;
  const std::vector<std::string> one_of_each_root_;  // a path below each root, to query HasLowLatency
  std::vector<RootOfFiles> roots_of_files_;          // parallel to roots_
  const std::shared_ptr<const sources::FileAccess> files_;
  Executor* const executor_;
  Clock* const clock_;
  std::stop_source stop_;
  std::vector<Shard> shards_;
  std::atomic<uint64_t> open_{0}, index_bytes_{0};
  // Acquired before a shard's mutex, never after it.
  Mutex hand_mutex_;
  size_t hand_ ABSL_GUARDED_BY(hand_mutex_) = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_SHARD_TABLE_H_
