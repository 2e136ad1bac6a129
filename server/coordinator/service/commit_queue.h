// Stores the facts of the coordinator's state, with at most one commit in flight. Facts that arrive meanwhile belong to
// the next commit.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_COMMIT_QUEUE_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_COMMIT_QUEUE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/random_source.h"
#include "base/runtime/strand.h"
#include "server/coordinator/state/events.h"
#include "server/coordinator/store/store.h"

namespace penstock::coordinator {

// Only tasks of the strand may use it.
class CommitQueue {
 public:
  // A hint or a change, in the order of storing.
  struct Entry {
    uint64_t number = 0;
    std::vector<std::shared_ptr<const v1::StoreEvent>> facts;
    std::optional<Change> change;  // without its facts; nullopt for a hint
  };
  // The end of a commit.
  struct Result {
    CommitOutcome::Kind kind = CommitOutcome::kStored;  // never kUnknown
    absl::Status why;                                   // OK if it is stored
    // After kStored: all entries of the commit. After kNotStored: its changes that are not repeated. After kSuperseded:
    // none.
    std::vector<Entry> ended;
    uint64_t last = 0;  // number of the last entry of the commit
  };

  // Outcomes so far, by kind. A commit whose outcome is unknown counts again after each attempt to settle it.
  struct Counts {
    uint64_t stored = 0, not_stored = 0, unknown = 0, superseded = 0;
    Nanos in_flight = 0;  // total time of the ended commits
  };

  // `revision` is the stored revision. Calls `ended` in tasks of the strand. Store and strand must outlive the queue.
  // The destructor does not cancel a commit in flight, and drops its outcome.
  CommitQueue(Store* store, uint64_t revision, Strand* strand, RandomSource* random, std::function<void(Result)> ended);
  ~CommitQueue();

  // Each adds an entry with the next number. The queue drops new entries after kSuperseded, and new events of the
  // history while many entries are gathered.
  void AddHint(v1::StoreEvent fact);
  void AddChange(Change change);
  // Begins a commit of all gathered entries, if there are any and no commit is in flight. After kNotStored the entries
  // to repeat are gathered again. Events of the history alone begin a commit only if `events`.
  void Start(bool events);

  // The number of the last entry.
  uint64_t last() const { return last_; }
  // The number of the last entry that is no event of the history. Answers wait for it.
  uint64_t last_needed() const { return last_needed_; }
  // Every entry up to this number is stored or dropped.
  uint64_t settled() const { return settled_; }
  bool has_gathered() const { return !gathered_.empty(); }
  bool in_flight() const { return in_flight_; }
  const Counts& counts() const { return counts_; }

 private:
  void Add(Entry entry);
  Store::Done PostOutcome();
  void Ended(CommitOutcome outcome);
  void SettleAt(Nanos when);

  Store* const store_;
  Strand* const strand_;
  RandomSource* const random_;  // for commit ids
  const std::function<void(Result)> ended_;
  const std::shared_ptr<Mailbox> mailbox_;
  uint64_t revision_;  // stored
  uint64_t last_ = 0, last_needed_ = 0, settled_ = 0;
  std::vector<Entry> gathered_;
  bool urgent_ = false;  // some gathered entry is no event of the history
  bool superseded_ = false;
  absl::Status status_;  // status of the last commit, for the log
  Counts counts_;

  // The commit in flight.
  bool in_flight_ = false;
  Nanos began_ = 0;
  std::string commit_id_;
  std::vector<Entry> flying_;
  uint64_t flying_last_ = 0;
  Nanos settle_pause_ = 0;
  StrandTimer settle_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_COMMIT_QUEUE_H_
