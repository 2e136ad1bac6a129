// The watcher's side of Coordinator.Watch: what is known of jobs, kept up to date by what the coordinator sends, which
// is only what has changed. For workers (all jobs) and trainers (one job) alike. Plain state.
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

namespace penstock {

// A job in its three parts. What is pointed to never changes: copies are cheap and may go to other threads.
struct WatchedJob {
  v1::JobRecord record;
  std::shared_ptr<const v1::JobMetadata> metadata;  // null before READY, and once they are let go
  std::shared_ptr<const v1::View> view;             // null before there is one
};

// The job in one piece, with what parts there are; and the reverse.
v1::Job ToJob(const WatchedJob& job);
WatchedJob ToWatched(const v1::Job& job);

// A job in its three parts, for one who has nothing: metadata and view where the job is READY, metadata_id given.
v1::JobUpdate UpdateOf(const v1::Job& job, uint64_t metadata_id);
v1::JobMetadata MetadataOf(const v1::Job& job);
v1::JobRecord RecordOf(const v1::Job& job, uint64_t metadata_id);

// What a reply changed.
struct JobChanges {
  std::vector<WatchedJob> jobs;
  std::vector<std::string> removed;  // by name
};

// Not thread-safe.
class JobMirror {
 public:
  // Follows `job`, or all jobs where it is "".
  explicit JobMirror(std::string job = "") : job_(std::move(job)) {}

  // What to ask next.
  v1::WatchRequest NextRequest(uint32_t wait_ms) const;
  // What is known of a job, as other requests say it.
  v1::HeldJob Held(const std::string& name) const;

  // Takes a reply in.
  //   an error   it does not fit what is known, which names the job. Nothing of it is taken, and the next request asks
  //              anew; ask not before a pause.
  absl::StatusOr<JobChanges> Apply(const v1::WatchReply& reply);
  // The same for the one job that it follows, which another call brought, at `revision`: where nothing is known,
  // watching goes on from there. What came late, after something newer, changes nothing.
  absl::StatusOr<WatchedJob> Apply(const v1::JobUpdate& update, uint64_t revision);

  // A call has failed. The coordinator that answers the next may be another, which counts revisions anew: it is told
  // what is held instead.
  void Lost();

  // The metadata of a job are needed no more: they are not kept, nor sent again.
  void LetMetadataGo(const std::string& name);

  // Null where it is not known. Valid until the next change.
  const WatchedJob* Find(const std::string& name) const;
  uint64_t revision() const { return known_; }

 private:
  struct Entry {
    WatchedJob job;
    uint64_t metadata_id = 0;  // had, or let go
  };
  absl::Status Take(const v1::JobUpdate& update, Entry* entry) const;

  std::string job_;
  uint64_t known_ = 0;
  uint64_t base_ = 0;
  std::map<std::string, Entry> jobs_;
};

}  // namespace penstock

#endif  // PENSTOCK_NET_JOB_MIRROR_H_
