// Chooses the next row to make. Pure state, without a lock, a thread or a clock.
//
//   1. Urgent rows of all sessions go first, in the order of their steps within a session.
//   2. The other rows follow, in the order of their steps within a session.
//   3. Sessions share CPU time by weight. Each session has a virtual time, which grows by the cost of its rows divided
//      by its weight. The session with the smallest virtual time is next (start-time fair queueing; Goyal, Vin and
//      Cheng, SIGCOMM 1996). An idle session does not accumulate credit.
//
// A row without memory waits, and so do the rows after it in its session. While an urgent row waits for memory, the
// caller limits the shared memory of other sessions (MemoryBudget::NeedOf), so that they cannot starve it. A row that
// waits only for the memory of its job's cap (Need::capped) holds back no other session.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_SCHEDULER_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "pipeline/loader/memory_budget.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/loader/row_task.h"

namespace penstock::loader {

// Not thread-safe.
class RowScheduler {
 public:
  using SessionId = uint64_t;

  using Need = MemoryBudget::Need;
  // The blocked urgent row that gets memory first. Capped rows come last. Among the others, rows whose memory is
  // reserved come first, then the row whose session has the smallest virtual time.
  using Blocked = MemoryBudget::Blocked;
  struct Choice {
    std::unique_ptr<RowTask> picked;  // null: no row can start
    std::optional<Blocked> blocked;
  };
  // `behind` is the blocked urgent row of another session, or null.
  using NeedOf = absl::FunctionRef<Need(const RowTask& row, const Blocked* behind)>;

  // Adds a session. `id` must be new. Weight 0 counts as 1.
  void AddSession(SessionId id, uint32_t weight);
  // Removes the session. Returns its rows that were not picked.
  std::vector<std::unique_ptr<RowTask>> RemoveSession(SessionId id);

  // Adds a task for each of the first `count` rows.
  void Add(SessionId id, const std::vector<RowRequest>& rows, size_t count = SIZE_MAX);
  // Sets whether the session's rows are held: none is picked. The other sessions do not wait for them.
  void SetHeld(SessionId id, bool held) { sessions_.at(id).held = held; }
  bool held(SessionId id) const { return sessions_.at(id).held; }
  // Makes rows of steps up to `step` urgent, also those that are added later.
  void SetHead(SessionId id, uint64_t step);

  // Announces further waiting rows, in their order, until `ahead` of the waiting rows are announced, and returns them.
  // Storage can then begin to fetch their records.
  std::vector<RowRequest> Announce(SessionId id, size_t ahead);

  // Removes and returns the next row. Charges an estimate of its cost until Done().
  Choice Pick(NeedOf need_of);
  // Removes and returns the row after a picked one of the session, as Pick() does, for a maker that has `rows` rows of
  // the session. Returns null if these rows take kTurn or more by their estimated cost, or if the session's next row
  // cannot start or is less urgent. `blocked` is that of the choice. The other sessions wait for at most one turn.
  static constexpr uint64_t kTurn = 50'000;  // nanoseconds
  std::unique_ptr<RowTask> PickMore(SessionId id, bool urgent, size_t rows, const std::optional<Blocked>& blocked,
                                    NeedOf need_of);
  // Removes and returns the session's first row without RowTask::looked_for, urgent rows first. The caller fetches its
  // record while earlier rows are made. Charges the row as Pick() does. Returns null if no such row waits, if the
  // session's rows are held, or if the session was removed. From the first call for a session on, the scheduler tracks
  // these rows.
  std::unique_ptr<RowTask> PickToLookFor(SessionId id);
  // Returns a picked row, which is kQueued or kAwaitsMemory, to its place, and refunds its charge. Drops it if its
  // session was removed.
  void PutBack(std::unique_ptr<RowTask> row);
  // Refunds the charge of a picked row that cannot be made yet. It costs its session nothing meanwhile and blocks no
  // other row. Call PutBackParked() when it can be made; that drops the row if its session was removed.
  void Park(SessionId id);
  void PutBackParked(std::unique_ptr<RowTask> row);
  // Replaces the estimated cost of a picked row by `nanos`. Has no effect for removed sessions.
  void Done(SessionId id, uint64_t nanos);

  // Returns a waiting row that holds memory, the last one in the order of its session, or null if there is none.
  // Without `blocked`, it skips the first row of each session. With `blocked`, an urgent row of that session waits for
  // memory: it prefers other rows of that session, then any row of another session.
  RowTask* LastHolder(std::optional<SessionId> blocked);

  // Returns the number of rows that were added and not picked.
  size_t waiting(SessionId id) const;
  size_t waiting() const { return waiting_; }  // in all sessions
  bool empty() const { return waiting_ == 0; }

 private:
  // Order within a session: by step, then by arrival.
  using Key = std::pair<uint64_t, uint64_t>;
  using Queue = std::map<Key, std::unique_ptr<RowTask>>;
  struct Session {
    double weight = 1;
    double virtual_time = 0;
    double cost = 0;  // estimated nanoseconds of a row: the mean of the last ones
    uint64_t head = 0;
    bool has_head = false;
    bool held = false;
    Queue urgent, normal;
    // Rows of both queues without RowTask::looked_for, urgent ones (false) first; unset until PickToLookFor is called.
    std::optional<std::set<std::pair<bool, Key>>> to_look_for;
    // The last announced row; rows up to it count as announced. Below, the number of them that wait.
    std::optional<Key> announced;
    size_t announced_waiting = 0;
    bool WasAnnounced(const Key& key) const { return announced.has_value() && key <= *announced; }
    bool idle() const { return urgent.empty() && normal.empty(); }
  };

  void Insert(Session* session, std::unique_ptr<RowTask> row);
  // Returns the blocked row that limits the memory of this session, or null.
  static const Blocked* BlockedBefore(SessionId id, const std::optional<Blocked>& blocked) {
    return blocked.has_value() && blocked->account != id && !blocked->need.capped ? &*blocked : nullptr;
  }
  std::unique_ptr<RowTask> TakeOut(Session* session, Queue* queue, Queue::iterator row);

  std::map<SessionId, Session> sessions_;
  uint64_t next_number_ = 0;
  size_t waiting_ = 0;
  double virtual_now_ = 0;  // largest virtual time at which a session was picked
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_SCHEDULER_H_
