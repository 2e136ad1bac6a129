// One row, from its request to its delivery.
//
//   request ──▶ kQueued ─────── picked ──────▶ kMaking ── made ──▶ kDone
//                 ▲  │                           │
//                 │  ├─ another session makes it │
//                 │  ▼                           ├──▶ kAwaitsMemory    (in the queue, until there is memory for it)
//                 │ kAwaitsSession               ├──▶ kAwaitsShard     the shard's index is loaded, or its file opened
//                 │  │                           ├──▶ kAwaitsReadSlot  as many records as allowed are being read
//                 │  │                           └──▶ kReading         its record is being read
//                 └──┴── the wait is over ◀───────────────┘
//
// A record may also be read before the row's turn: kQueued or kAwaitsMemory, then kReading. A shard may be closed
// before the read begins: kReading, then kAwaitsShard. A session that closes destroys its rows in any state but
// kMaking and kDone.
//
// A task resumes where it stopped. Its place in the plan is computed once. A retry does not repeat a lookup that
// missed, unless the entry was added since. A row that waits for memory does not keep an entry that it found, because
// no budget counts pinned entries.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_TASK_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_TASK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/augment/op/sample_key.h"
#include "pipeline/batch/row.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/fetched_record.h"
#include "pipeline/loader/row_request.h"

namespace penstock::loader {

enum class RowState {
  kQueued,
  kAwaitsMemory,
  kAwaitsSession,
  kAwaitsShard,
  kAwaitsReadSlot,
  kReading,
  kMaking,
  kDone,
};
constexpr int kRowStates = static_cast<int>(RowState::kDone) + 1;

// Returns the state's name, for messages.
std::string_view NameOf(RowState state);

// Returns whether the drawing or the text above has the transition.
bool MayMove(RowState from, RowState to);

// Identifies a row of a loader. Never used twice.
struct TaskId {
  uint64_t session = 0;
  uint64_t number = 0;  // in the order of requests, over all sessions
  bool operator==(const TaskId&) const = default;
};

// Not thread-safe. One owner at a time uses the task: the loader under its lock, or the maker of the row.
class RowTask {
 public:
  RowTask(TaskId id, const RowRequest& row) : request(row), id_(id) {}
  RowTask(const RowTask&) = delete;
  RowTask& operator=(const RowTask&) = delete;

  const TaskId& id() const { return id_; }
  RowState state() const { return state_; }
  // CHECKs that MayMove(state(), next).
  void MoveTo(RowState next);
  // Returns whether the task is in the queue of the scheduler.
  bool waits_in_queue() const { return state_ == RowState::kQueued || state_ == RowState::kAwaitsMemory; }
  // Returns the bytes of the budget that the row holds while it waits.
  uint64_t held_bytes() const { return fetched == nullptr ? 0 : fetched->held_bytes(); }

  // Results of earlier tries, for RowMaker.
  struct Progress {
    bool planned = false;            // `record`, `key` and `row_key` are set
    uint64_t record = 0;             // the record of the position
    SampleKey key;                   // key of the row's random numbers
    bool keyed = false;              // `row_key` applies
    bool row_looked_up = false;      // the cache of rows lacks the row
    bool record_looked_up = false;   // the cache of records lacks `source`
    bool disk_looked_up = false;     // the disk cache lacks `source`
    bool decoded_looked_up = false;  // the cache of decoded images lacks `source`
    uint8_t substitutes = 0;         // substitutes that were tried, including the current one
    int failed_reads = 0;
    uint64_t source = 0;    // the record of this try: that of the position, or a substitute
    cache::RowKey row_key;  // in the cache of rows
    absl::Status fault;     // fault of `record`, without the place; OK: none
    std::optional<uint64_t> fault_offset;
    std::optional<uint64_t> number;  // of `record` in its shard, if the job selects records
    absl::Status damage;             // not OK: the next read of `source` goes past all caches
  };

  RowRequest request;
  uint64_t need = 0;  // bytes that an earlier try needed; 0: unknown
  // The loader has already considered reading its record early. PickToLookFor skips the row.
  bool looked_for = false;
  // While the row waits for its shard: its ReadyWaiter. Afterwards: the `hold` of OnReady, which keeps the index of
  // that shard in memory.
  std::shared_ptr<const void> hold;
  std::optional<batch::RowSlot> slot;  // memory of the row's columns, once it is reserved
  // For storage with high latency, and to read a damaged record again. The storage shares it during a read.
  std::shared_ptr<FetchedRecord> fetched;
  Progress progress;

 private:
  const TaskId id_;
  RowState state_ = RowState::kQueued;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_TASK_H_
