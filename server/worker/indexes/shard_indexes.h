// Provides this worker's indexes: from its own sidecars, the coordinator's blobs, or the shards themselves.
#ifndef PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_
#define PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock::worker {

// Thread-safe.
class ShardIndexes {
 public:
  // `link` must outlive this. `worker_id` identifies this worker to the coordinator, which assigns index builds.
  ShardIndexes(sources::IndexStore store, CoordinatorLink* link, std::string worker_id = "",
               Clock* clock = Clock::Real())
      : store_(std::move(store)), link_(link), worker_id_(std::move(worker_id)), clock_(clock) {}

  // Returns the index of a shard of a snapshot, for the current state of the file: from a trusted sidecar, or the
  // coordinator's blob for a file in the same state. If the coordinator has no usable index, or assigns the build to
  // this worker, this worker scans the file and uploads the index. May take long.
  //   FailedPrecondition  the file's content is not that of the snapshot; names the file
  //   Unavailable         the coordinator did not answer, another worker is scanning the file, or too many are scanned
  //   Cancelled           a stop was requested, or Stop() called
  //   others              from the file
  // If the coordinator does not answer, further calls that need it return Unavailable at once, for a pause that grows
  // to a few seconds.
  absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> Get(const sources::SnapshotShard& shard,
                                                                 const std::string& path,
                                                                 const sources::IndexOptions& options,
                                                                 const std::stop_token& stop = {});

  // Returns the index of a new file, from its sidecar or by scanning the file, and stores it. Fails as
  // IndexStore::LoadOrBuild does, and with Cancelled after Stop().
  absl::StatusOr<sources::LoadedIndex> Build(const std::string& path, const sources::IndexOptions& options);

  // Removes this worker's own index of the file, and returns its size; 0 if there is none. Waits for calls for the same
  // file. Returns the errors of IndexStore::Remove, and Cancelled after Stop().
  absl::StatusOr<uint64_t> Remove(const std::string& path);
  // Returns the number of calls of Remove() so far.
  uint64_t removals() const { return removals_.load(); }

  // Returns a function that calls Get() for the shards of a job. Returns InvalidArgument for a wrong selection.
  absl::StatusOr<loader::IndexProvider> ProviderFor(const v1::Job& job, const std::vector<sources::DataRoot>& roots);

  const sources::IndexStore& store() const { return store_; }

  // Indexes that Get() and Build() returned so far, by their source.
  struct Counts {
    uint64_t sidecar = 0, coordinator = 0, built = 0;
  };
  Counts counts() const { return {from_sidecar_.load(), from_coordinator_.load(), built_.load()}; }

  // Cancels current and future calls.
  void Stop();

 private:
  void Count(const sources::LoadedIndex& index) { (index.built ? built_ : from_sidecar_).fetch_add(1); }
  // Serializes the calls for one file: later calls then find its sidecar.
  class Turn;

  absl::Status CheckContent(const sources::SnapshotShard& shard, const std::string& path, const FileInfo& file,
                            const sources::ShardIndex& index);
  absl::Status Refuse(const sources::SnapshotShard& shard, const std::string& path, const FileInfo& file,
                      const std::string& what);
  // Returns whether the file is uncompressed, so that another size alone proves other content.
  bool IsPlain(const std::string& path, const sources::IndexOptions& options) const;
  // Returns the index of the shard's selection, of any state of the file, from the sidecar or the coordinator; null if
  // there is none. So the selection does not depend on records that were damaged or repaired since.
  std::shared_ptr<const sources::ShardIndex> EarlierSelection(const sources::SnapshotShard& shard,
                                                              const std::string& path,
                                                              const sources::IndexOptions& options);
  absl::StatusOr<v1::GetIndexReply> Ask(const v1::GetIndexRequest& request, const std::string& path);
  absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> Walk(const sources::SnapshotShard& shard,
                                                                  const std::string& path, const FileInfo& file,
                                                                  const sources::IndexOptions& options);

  const sources::IndexStore store_;
  CoordinatorLink* const link_;
  const std::string worker_id_;
  Clock* const clock_;
  std::stop_source stop_;
  std::atomic<uint64_t> removals_{0};
  std::atomic<uint64_t> from_sidecar_{0}, from_coordinator_{0}, built_{0};

  Mutex mutex_;
  CondVar changed_;
  std::set<std::string> busy_ ABSL_GUARDED_BY(mutex_);  // paths
  // Files in a state that is known to differ from the snapshot. Get() does not check them again. By path; bounded.
  struct Refused {
    FileInfo file;
    uint64_t content_hash = 0;  // content hash of the snapshot
    absl::Status status;
  };
  std::map<std::string, Refused> refused_ ABSL_GUARDED_BY(mutex_);
  // Error of a coordinator that did not answer, the time of the next attempt, and the pause.
  absl::Status not_answered_ ABSL_GUARDED_BY(mutex_);
  Nanos ask_after_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos pause_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_
