// Which row is made next: pure state, no lock, thread or clock of its own.
//
//   1. Urgent rows of any session go first, in the order of their steps inside a session.
//   2. Then rows in the order of their steps inside a session.
//   3. Between sessions the computing time is shared by weight: each has a virtual time that grows by what its rows
//      cost divided by its weight, and the session that is furthest behind is next (start-time fair queueing; Goyal,
//      Vin and Cheng, SIGCOMM 1996). A session that had nothing to do does not save time up.
// A row for which there is no memory waits, and the rows behind it in its session with it. While an urgent row waits
// for memory, rows of other sessions, urgent or not, take memory only behind it, as the caller sees to, so that they
// cannot keep it waiting.
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
#include "pipeline/batch/row.h"
#include "pipeline/loader/fetched_record.h"
#include "pipeline/loader/row_request.h"

namespace penstock {

// A row that waits for its turn.
struct ScheduledRow {
  RowRequest request;
  uint64_t sequence = 0;        // order of arrival
  uint64_t need = 0;            // bytes that it was found to need in an earlier try; 0: not known yet
  std::optional<RowSlot> slot;  // booked in an earlier try
  ReadAttempts reads;
  std::shared_ptr<const void> hold;  // keeps its shard ready, which it waited for
  bool looked_for = false;           // its record was, before its turn: PickToLookFor is through with it

  // Bytes of the budget that it has while it waits.
  uint64_t held_bytes() const { return reads.brought == nullptr ? 0 : reads.brought->held_bytes(); }
};

// Not thread-safe.
class RowScheduler {
 public:
  using SessionId = uint64_t;

  struct Picked {
    SessionId session = 0;
    ScheduledRow row;
  };
  // What a row lacks.
  struct Need {
    uint64_t shortage = 0;  // bytes that must become free before it can start; 0: it can now
    uint64_t bytes = 0;     // that it takes
    bool reserved = false;  // they lie inside what is reserved for its session
  };
  // An urgent row that memory keeps waiting: one whose memory is reserved before others, then the one that is furthest
  // behind.
  struct Blocked {
    SessionId session = 0;
    Need need;
  };
  struct Choice {
    std::optional<Picked> picked;
    std::optional<Blocked> blocked;
  };
  // `behind`: the urgent row of another session that waits; null: there is none.
  using NeedOf = absl::FunctionRef<Need(SessionId session, const ScheduledRow& row, const Blocked* behind)>;

  // `id` must be new; weight 0 counts as 1.
  void AddSession(SessionId id, uint32_t weight);
  // Drops the session, and returns its rows that were not picked.
  std::vector<ScheduledRow> RemoveSession(SessionId id);

  void Add(SessionId id, const std::vector<RowRequest>& rows);
  // Rows of steps up to `step` are urgent, those that come later too.
  void SetHead(SessionId id, uint64_t step);

  // Rows that wait, in the order in which they come, as many as it takes to have told of `ahead` of those that wait;
  // each is told once. For storage, which can begin to bring their records.
  std::vector<RowRequest> Announce(SessionId id, size_t ahead);

  // Takes the next row out. Its cost is charged as an estimate until Done().
  Choice Pick(NeedOf need_of);
  // Takes the session's first row, of urgent ones before others, whose record was not looked for before its turn: where
  // storage is far, that is to be brought while rows before it are made. Charged like any other; nothing where there is
  // none. Once a session is asked of, it keeps account of them.
  std::optional<Picked> PickToLookFor(SessionId id);
  // Puts a picked row back at its place: it needs more memory than there was.
  void PutBack(Picked picked);
  // A picked row cannot be made before something has come: it costs its session nothing meanwhile, and nobody waits
  // behind it. PutBackParked() when it can.
  void Park(SessionId id);
  void PutBackParked(Picked picked);
  // The picked row cost that much time. For rows of removed sessions nothing happens.
  void Done(SessionId id, uint64_t nanos);

  // The row that holds memory while it waits and whose turn comes last: of the sessions' rows behind their first, or,
  // where an urgent row of session `blocked` waits for memory, of all rows but that one. Null: there is none.
  struct Holder {
    SessionId session = 0;
    ScheduledRow* row = nullptr;
  };
  Holder LastHolder(std::optional<SessionId> blocked);

  // Rows that were added and not picked.
  size_t waiting(SessionId id) const;
  bool empty() const { return waiting_ == 0; }

 private:
  // Order inside a session: by step, then by arrival.
  using Key = std::pair<uint64_t, uint64_t>;
  struct Session {
    double weight = 1;
    double virtual_time = 0;
    double cost = 0;  // mean nanoseconds of a row, the estimate
    uint64_t head = 0;
    bool has_head = false;
    std::map<Key, ScheduledRow> urgent, normal;
    // Of both, those whose record was not looked for, urgent ones (false) first; not kept (nothing) where nobody asked.
    std::optional<std::set<std::pair<bool, Key>>> to_look_for;
    // Rows up to this one count as announced; how many of them wait.
    std::optional<Key> announced;
    size_t announced_waiting = 0;
    bool WasAnnounced(const Key& key) const { return announced.has_value() && key <= *announced; }
    bool idle() const { return urgent.empty() && normal.empty(); }
  };

  void Insert(Session* session, ScheduledRow row);
  Picked TakeOut(SessionId id, Session* session, std::map<Key, ScheduledRow>* queue,
                 std::map<Key, ScheduledRow>::iterator row);

  std::map<SessionId, Session> sessions_;
  uint64_t next_sequence_ = 0;
  size_t waiting_ = 0;
  double virtual_now_ = 0;  // of the session picked last
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_SCHEDULER_H_
