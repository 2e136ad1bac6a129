// The running purges: tasks for workers to free indexes and cached data of an ended job's files, and their reports. A
// restart of the coordinator loses them; the job then still exists, and its next Purge request starts the purge again.
// Pure: callers pass the time and the workers. Not thread-safe.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_PURGE_DESK_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_PURGE_DESK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"

namespace penstock::coordinator {

// The files whose indexes and cached data a purge frees.
struct PurgePlan {
  std::vector<v1::Shard> shards;  // root and path of the files that no other job uses
  std::vector<uint64_t> blobs;    // content hashes of indexes that no other job uses
  uint64_t data_set = 0;          // as in v1::PurgeJob
  bool kept_records = false;      // another job has the same snapshot
  v1::JobSpec spec;
  std::vector<v1::Container> containers = {v1::TFRECORD};  // by data set
  uint32_t all_shards = 0;                                 // shards that the job has
};

// A worker that takes part.
struct PurgeWorker {
  std::string id;
  std::string name;  // for display
  std::string lost;  // not "": why it cannot take part now
};

class PurgeDesk {
 public:
  static constexpr size_t kMostRunning = 16;
  static constexpr size_t kShardsOfTask = 4096;
  // A purge ends if no request follows it for this long.
  static constexpr Nanos kFollowed = 60 * kSecond;
  // Pause before a worker tries again because streams used the job.
  static constexpr Nanos kRetryPause = kSecond / 2;

  // Returns ResourceExhausted if too many purges run.
  absl::Status CheckRoom(Nanos now);
  // Starts the purge of a job that has ended, or does nothing if it runs.
  void Start(Nanos now, const std::string& job, uint64_t job_uid, PurgePlan plan);
  bool Runs(uint64_t job_uid) const { return purges_.contains(job_uid); }
  // Lets the parts that failed try again.
  void Retry(uint64_t job_uid);
  void Forget(uint64_t job_uid) { purges_.erase(job_uid); }

  // Adds the current task of the worker in each purge. Ends the purges that no request follows, and those of jobs for
  // which `exists` is false. `new_id` returns a new id for a task.
  void AddTasks(Nanos now, const std::string& worker,
                absl::FunctionRef<bool(const std::string& job, uint64_t job_uid)> exists,
                absl::FunctionRef<uint64_t()> new_id, google::protobuf::RepeatedPtrField<v1::Task>* tasks);
  // Applies a worker's report. Returns false if no purge has this task.
  bool Report(Nanos now, const v1::ReportTaskRequest& report);
  // Applies the result of the coordinator's own part. `bytes` counts also if `status` is an error.
  void ReportOwn(uint64_t job_uid, const absl::Status& status, uint64_t bytes);

  // Returns the progress of a purge. Counts as a request that follows it. Requires that the purge runs.
  v1::PurgeReply Describe(Nanos now, uint64_t job_uid, const std::vector<PurgeWorker>& workers);
  // Returns the indexes that the coordinator must remove, or null if it has done so, it failed, or no purge runs.
  const std::vector<uint64_t>* OwnWork(uint64_t job_uid) const;

 private:
  struct Part {
    v1::PurgePart::State state = v1::PurgePart::WAITING;
    std::string message;
    v1::PurgedBytes freed;
    size_t next_shard = 0;  // first shard of the current task
    uint64_t task = 0;      // id of the current task; 0: none yet
    Nanos retry_at = 0;
  };
  struct Purge {
    std::string job;
    PurgePlan plan;
    std::map<std::string, Part> workers;  // by id
    Part own;
    Nanos followed = 0;  // time of the last request
  };
  static v1::Task TaskOf(uint64_t job_uid, const Purge& purge, const Part& part);

  std::map<uint64_t, Purge> purges_;  // by uid of the job
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_PURGE_DESK_H_
