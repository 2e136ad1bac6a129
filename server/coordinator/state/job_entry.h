// A job as the coordinator's state holds it.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_JOB_ENTRY_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_JOB_ENTRY_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/plan/view.h"
#include "server/coordinator/assignment.h"
#include "server/coordinator/state/quarantine.h"
#include "server/coordinator/state/shard_list.h"
#include "server/coordinator/state/view_history.h"

namespace penstock {

struct JobEntry {
  v1::Job job;                  // as workers and trainers are told; with the view, without the snapshot's shards
  ShardList frozen;             // the snapshot's shards, once all are indexed
  std::set<std::string> roots;  // data roots of its files, as far as they are known
  std::string digest;           // conformance digest of the worker that prepared it

  // While PREPARING: the shards as they become known. They move into `frozen` when all are.
  std::vector<v1::Shard> shards;
  std::vector<bool> indexed;
  uint64_t open_shards = 0;       // not indexed yet
  bool progress_to_tell = false;  // shards_indexed has grown since watchers were told

  // When READY.
  std::optional<KeyWeights> weights;
  std::optional<View> view;        // none until a worker can serve the job
  uint64_t first_view_number = 1;  // views of a replaced job go on counting
  Quarantine quarantine;
  uint64_t look = 0;  // the task that looks at its files; 0: none is under way

  // The submission that is to take this one's place when it is READY, so that a mistake in it ends nobody's training;
  // FAILED: it did not. It has the same name and a uid of its own; whoever asks for the job gets this one.
  std::unique_ptr<JobEntry> next;
  bool is_next = false;  // this is one

  // For watchers.
  uint64_t metadata_id = 0;        // as v1::JobRecord has it
  uint64_t metadata_revision = 0;  // since when the metadata are what they are
  ViewHistory views;

  bool preparing() const { return job.state() == v1::PREPARING; }
  bool ready() const { return job.state() == v1::READY; }

  // With their memory, which clearing keeps.
  void ForgetFoundShards() {
    shards = std::vector<v1::Shard>();
    indexed = std::vector<bool>();
  }
};

// With the snapshot's shards: large, and for those alone who need them.
inline v1::Job WholeJob(const JobEntry& entry) {
  v1::Job job = entry.job;
  if (entry.frozen.size() > 0) entry.frozen.AddTo(job.mutable_snapshot());
  return job;
}

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_JOB_ENTRY_H_
