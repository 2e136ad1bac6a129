// The watcher's side of Coordinator.Watch: the state of jobs, updated from the coordinator's replies, which contain
// only changes. Workers watch all jobs, and trainers one job.
#ifndef PENSTOCK_NET_JOB_MIRROR_H_
#define PENSTOCK_NET_JOB_MIRROR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/control.pb.h"

namespace penstock::net {

// A job in parts. The objects behind the pointers are immutable: copies are cheap and may be passed to other threads.
struct WatchedJob {
  v1::JobRecord record;
  std::shared_ptr<const v1::JobMetadata> metadata;  // null before READY, and after LetMetadataGo
  std::shared_ptr<const v1::View> view;             // null before the first view
  // Records that the coordinator declared bad because every copy is damaged, in the order of its decisions. Null: none.
  std::shared_ptr<const std::vector<uint64_t>> decided;
};

// Returns the job in one message, without `decided`. Missing parts stay empty.
v1::Job ToJob(const WatchedJob& job);

// Return a part of a job.
v1::JobMetadata MetadataOf(const v1::Job& job);
v1::JobRecord RecordOf(const v1::Job& job, uint64_t metadata_id);

// Returns the reason why readers of a paused job wait, with the remedy. Returns "" if `paused_by` is "".
std::string PausedText(const std::string& job, const std::string& paused_by);

// Changes from one reply.
struct JobChanges {
  std::vector<WatchedJob> jobs;
  std::vector<std::string> removed;  // job names
};

// Not thread-safe.
class JobMirror {
 public:
  // Follows `job`, or all jobs if it is "".
  explicit JobMirror(std::string job = "") : job_(std::move(job)) {}

  // Returns the next request. The coordinator may delay its reply by up to `wait_ms` until there is a change.
  v1::WatchRequest NextRequest(uint32_t wait_ms) const;
  // Returns the held state of a job, as requests report it.
  v1::HeldJob Held(const std::string& name) const;

  // Applies a reply. Returns an error that names the job if an update does not fit the held state. In that case only
  // this job may change: it loses the parts that do not fit. The next request reports the held state, as after Lost().
  // The caller must pause before that request.
  absl::StatusOr<JobChanges> Apply(const v1::WatchReply& reply);
  // Applies an update of a followed job that another call returned, at `revision`, and returns the job. If no revision
  // is known, watching continues from `revision`. An update that is older than the known state has no effect. Returns
  // the errors of the other Apply, and InvalidArgument for a job that is not followed.
  absl::StatusOr<WatchedJob> Apply(const v1::JobUpdate& update, uint64_t revision);

  // Handles a failed call. The next coordinator to answer may be another one with other revisions, so the next request
  // reports the held state instead of a revision.
  void Lost();

  // Drops the metadata of a job but keeps its id, so that the coordinator does not send it again.
  void LetMetadataGo(const std::string& name);

  // Returns null if the job is unknown. The pointer is valid until the next change.
  const WatchedJob* Find(const std::string& name) const;
  uint64_t revision() const { return known_; }

 private:
  struct Entry {
    WatchedJob job;
    uint64_t metadata_id = 0;  // id of the held or dropped metadata
  };
  absl::Status Take(const v1::JobUpdate& update, Entry* entry) const;
  // Updates entry->job.decided only.
  static absl::Status TakeDecided(const v1::JobUpdate& update, Entry* entry);

  std::string job_;
  uint64_t known_ = 0;
  uint64_t base_ = 0;
  std::map<std::string, Entry> jobs_;
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_JOB_MIRROR_H_
