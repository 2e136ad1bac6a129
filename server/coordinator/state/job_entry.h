// A job in the coordinator's state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_JOB_ENTRY_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_JOB_ENTRY_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"
#include "penstock/v1/explain.pb.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/view.h"
#include "server/coordinator/assignment.h"
#include "server/coordinator/state/decision_list.h"
#include "server/coordinator/state/found_groups.h"
#include "server/coordinator/state/quarantine.h"
#include "server/coordinator/state/record_inquiries.h"
#include "server/coordinator/state/shard_list.h"
#include "server/coordinator/state/view_history.h"

namespace penstock::coordinator {

// Detects that another resource has limited a job for long enough to be an event (state_history.cc).
struct LimitWatch {
  using Value = std::pair<v1::Explanation::Limit, std::string>;  // with the worker that has the limit
  Value told, seen;                                              // the last event, and the last explanation
  Nanos since = 0;                                               // of `seen`
  Nanos looked = 0;
};

struct JobEntry {
  v1::Job job;                      // the job for workers and trainers; with the view, without the snapshot's shards
  ShardList frozen;                 // the snapshot's shards, after all are indexed
  std::vector<std::string> pieces;  // names of the stored pieces of `frozen`; set when it becomes READY
  std::set<std::string> roots;      // known data roots of its files
  std::string digest;               // conformance digest of the worker that prepared it

  // While PREPARING: the known shards. They move into `frozen` when all are indexed.
  std::vector<v1::Shard> shards;
  std::vector<bool> indexed;
  FoundGroups groups;             // groups of records in the indexed shards
  uint64_t open_shards = 0;       // not indexed yet
  bool progress_to_tell = false;  // shards_indexed or decisions have grown since the last update of watchers
  std::string shortage;           // the last shortage of a worker; "" after a task of the job is done

  // Set when all shards are indexed.
  uint64_t epoch_rows = 0;                             // positions of an epoch
  std::shared_ptr<const plan::BatchSequence> batches;  // the batches of each epoch, if their sizes depend on values
  std::shared_ptr<const plan::DataOrder> blend;        // order of several data sets, for the status; otherwise null

  // When READY.
  std::optional<KeyWeights> weights;
  std::optional<plan::View> view;  // none until a worker is able to serve the job
  uint64_t first_view_number = 1;  // views of the replacing job continue the numbers of the replaced one
  Quarantine quarantine;
  Quarantine reported;  // records in `quarantine`, and records that are being stored
  DecisionList decisions;
  std::set<uint64_t> deciding;  // records whose decision is being stored
  RecordInquiries inquiries;
  Nanos read_at = 0;  // the last time that a session was open, or the first look at the READY job; 0: no look yet
  LimitWatch limit;
  uint32_t bad_files_told = 0;  // events about bad records of a file
  uint64_t look = 0;            // the task that compares its files with the snapshot; 0: none

  // The submission that replaces this one when `next` is READY, so that a mistake in `next` ends no training run.
  // `next` has the same name and its own uid. If it is FAILED, it did not replace this one. Requests for the job get
  // this submission, not `next`.
  std::unique_ptr<JobEntry> next;
  bool is_next = false;  // this entry is the `next` of another
  std::string failure;   // error that is being stored, with which the job then fails; "": none

  // For watchers.
  uint64_t metadata_id = 0;        // value of v1::JobRecord::metadata_id
  uint64_t metadata_revision = 0;  // revision of the last change of the metadata
  ViewHistory views;

  bool preparing() const { return job.state() == v1::PREPARING; }
  bool ready() const { return job.state() == v1::READY; }

  // Removes the known shards and frees their memory, which clear() would keep.
  void ForgetFoundShards() {
    shards = std::vector<v1::Shard>();
    indexed = std::vector<bool>();
    groups = FoundGroups();
  }
};

// Returns the job with the snapshot's shards. The result is large; use it only if the shards are needed.
inline v1::Job WholeJob(const JobEntry& entry) {
  v1::Job job = entry.job;
  if (entry.frozen.size() > 0) entry.frozen.AddTo(job.mutable_snapshot());
  return job;
}

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_JOB_ENTRY_H_
