// What one session is owed: from grants and fetches to row requests, in step order. Pure bookkeeping.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SESSION_CORE_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SESSION_CORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/data.pb.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock {

// The tag of a request is the row's number on the wire, with this bit when it was fetched. (RowRequest::urgent does not
// say so: the loader also sets it on rows of the head step.)
constexpr uint64_t kFetchedTag = uint64_t{1} << 63;
constexpr uint64_t RowOfTag(uint64_t tag) { return tag & ~kFetchedTag; }
constexpr bool WasFetched(uint64_t tag) { return (tag & kFetchedTag) != 0; }

struct SessionLimits {
  size_t views = 64;                // remembered; the oldest goes first
  size_t grants = 4096;             // open at once
  size_t fetch_positions = 262144;  // of one message
  size_t fetches_open = 524288;     // rows that were fetched and not yet begun
};

struct SessionParameters {
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint32_t step_rows = 0;  // of the global step
  uint64_t positions = 0;  // of an epoch
  LastBatch last = LastBatch::kDrop;
  std::string worker_id;  // whose rows are owed
  std::function<EpochPlan(uint64_t epoch)> plan_of;
};

// Rows are named as on the wire: a position, or, in a padded last step, a number from the epoch's end on. The `step` of
// the requests that are made here orders steps through epochs.
//
// Grants are worked off lazily and in order, so that a large one takes no memory. Messages come from outside: what
// does not make sense is an InvalidArgument that says why, and the stream is to end with it. Not thread-safe.
class SessionCore {
 public:
  // InvalidArgument: rank, world size and step rows that do not fit together or the data.
  static absl::StatusOr<SessionCore> Create(SessionParameters parameters, const SessionLimits& limits = {});

  // Rows of one step of this rank.
  uint32_t slice_rows() const { return static_cast<uint32_t>(steps_.step_size() / steps_.world_size()); }

  absl::Status UseView(const v1::View& view);
  // FailedPrecondition when its view was not named before.
  absl::Status AddGrant(const v1::Grant& grant);
  // Queues a fetch, in a few bytes a row. Returns the bytes that it takes here until its rows were all given out; 0
  // when it names none.
  absl::StatusOr<size_t> AddFetch(const v1::Fetch& fetch);
  // The order number of the step that the trainer waits for.
  absl::StatusOr<uint64_t> Waiting(const v1::Waiting& waiting);

  // The next rows that grants owe: at most `max_rows`, after looking at about `max_looked` rows of this rank, which are
  // added to *looked. May be empty while HasMore().
  std::vector<RowRequest> NextRows(size_t max_rows, size_t max_looked, size_t* looked);
  bool HasMore() const { return !grants_.empty(); }

  // Whether rows will be asked for, if later grants are as the last one; null before there is one. Pure.
  using WillAsk = std::function<bool(uint64_t position, uint64_t record)>;
  std::shared_ptr<const WillAsk> will_ask() const { return will_ask_; }

  // The next rows of fetches, in the order asked for, at most `max_rows`.
  std::vector<RowRequest> NextFetched(size_t max_rows);
  bool HasFetches() const { return !fetches_.empty(); }
  size_t fetches() const { return fetches_.size(); }         // whose rows were not all given out
  size_t queued_fetches() const { return queued_fetches_; }  // their rows that were not

 private:
  // The part of a view that concerns this worker.
  struct OwnedKeys {
    uint64_t term = 0;
    uint64_t number = 0;
    AssignPolicy policy = AssignPolicy::kByRecord;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;  // [begin, end), sorted, not touching
    bool Contains(uint64_t key) const;
  };
  struct OpenGrant {
    std::shared_ptr<const OwnedKeys> keys;
    uint64_t epoch = 0;
    uint64_t step_begin = 0;  // of the step that is next
    uint64_t next_slot = 0;   // in it
    uint64_t end = 0;
  };

  // Row numbers as differences, zigzag varints: a byte or two each where they are in order.
  struct OpenFetch {
    uint64_t epoch = 0;
    std::string rows;
    size_t next = 0;   // into it
    uint64_t row = 0;  // given out last
  };

  SessionCore(SessionParameters parameters, Steps steps, const SessionLimits& limits)
      : parameters_(std::move(parameters)), steps_(steps), limits_(limits) {}

  // Rows of an epoch, padding included.
  uint64_t RowsEnd() const;
  uint64_t OrderOf(uint64_t epoch, uint64_t row);
  const EpochPlan& PlanOf(uint64_t epoch);

  SessionParameters parameters_;
  Steps steps_;
  SessionLimits limits_;
  std::deque<std::shared_ptr<const OwnedKeys>> views_;
  std::deque<OpenGrant> grants_;
  std::shared_ptr<const WillAsk> will_ask_;
  std::shared_ptr<const OwnedKeys> will_ask_keys_;  // that it goes by
  std::deque<OpenFetch> fetches_;
  size_t queued_fetches_ = 0;
  std::optional<uint64_t> first_epoch_;
  std::optional<EpochPlan> plan_;  // the one used last
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_CORE_H_
