// Where this worker's indexes come from: its own sidecars, the coordinator's blobs, or the shards themselves.
#ifndef PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_
#define PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/records/index_job.h"
#include "pipeline/records/index_store.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock {

// Thread-safe.
class ShardIndexes {
 public:
  // `link` outlives this. `worker_id` is how the coordinator knows whose turn it is.
  ShardIndexes(IndexStore store, CoordinatorLink* link, std::string worker_id = "", Clock* clock = Clock::Real())
      : store_(std::move(store)), link_(link), worker_id_(std::move(worker_id)), clock_(clock) {}

  // The index of a shard of a snapshot, for the file as it is now: the sidecar where it is trusted, else the
  // coordinator's blob of a file in the same state. Only where the coordinator says that it has none, and that it is
  // this worker's turn, is the file walked, and the index given to all. May take long.
  //   FailedPrecondition  the file's content is not the snapshot's; names the file
  //   Unavailable         the coordinator could not be asked (which is not tried by each call: the pause between asking
  //                       grows to some seconds), or another worker walks the file
  //   Cancelled           a stop was requested, or Stop() called
  //   others              from the file
  absl::StatusOr<std::shared_ptr<const ShardIndex>> Get(const SnapshotShard& shard, const std::string& path,
                                                        const IndexOptions& options, const std::stop_token& stop = {});

  // The index of a file of which nothing is known yet, from its sidecar or walked; kept. As IndexStore::LoadOrBuild,
  // and Cancelled after Stop().
  absl::StatusOr<LoadedIndex> Build(const std::string& path, const IndexOptions& options);

  // Get() for the shards of a job.
  IndexProvider ProviderFor(const v1::JobSpec& spec);

  const IndexStore& store() const { return store_; }

  // Calls end soon, those that come too.
  void Stop();

 private:
  // Only one call at a time is at work on a file: the others then find its sidecar.
  class Turn;

  absl::Status CheckContent(const SnapshotShard& shard, const std::string& path, const FileInfo& file,
                            const ShardIndex& index);
  absl::Status Refuse(const SnapshotShard& shard, const std::string& path, const FileInfo& file,
                      const std::string& what);
  // A file of another size: whether that alone says that its content is another.
  bool IsPlain(const std::string& path, const IndexOptions& options) const;
  absl::StatusOr<v1::GetIndexReply> Ask(const v1::GetIndexRequest& request, const std::string& path);
  absl::StatusOr<std::shared_ptr<const ShardIndex>> Walk(const SnapshotShard& shard, const std::string& path,
                                                         const FileInfo& file, const IndexOptions& options);

  const IndexStore store_;
  CoordinatorLink* const link_;
  const std::string worker_id_;
  Clock* const clock_;
  std::stop_source stop_;

  Mutex mutex_;
  CondVar changed_;
  std::set<std::string> busy_ ABSL_GUARDED_BY(mutex_);  // paths
  // Files that were walked and are not the snapshot's, in that state: not walked again. By path; bounded.
  struct Refused {
    FileInfo file;
    uint64_t content_hash = 0;  // wanted
    absl::Status status;
  };
  std::map<std::string, Refused> refused_ ABSL_GUARDED_BY(mutex_);
  // The coordinator did not answer: it is not asked before, and the pause after.
  absl::Status not_answered_ ABSL_GUARDED_BY(mutex_);
  Nanos ask_after_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos pause_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_INDEXES_SHARD_INDEXES_H_
