// Computes the rows that a session is owed: from grants and fetches to row requests, in step order. Pure bookkeeping.
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
#include "pipeline/loader/read_ahead/expected_rows.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/owned_keys.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock::worker {

// The tag of a request is the row's number on the wire, with this bit set for fetched rows. RowRequest::urgent does not
// identify them, because the loader also sets it on rows of the head step.
constexpr uint64_t kFetchedTag = uint64_t{1} << 63;
constexpr uint64_t RowOfTag(uint64_t tag) { return tag & ~kFetchedTag; }
constexpr bool WasFetched(uint64_t tag) { return (tag & kFetchedTag) != 0; }

struct SessionLimits {
  size_t views = 64;                // limit of remembered views; the oldest is dropped first
  size_t grants = 4096;             // limit of open grants
  size_t fetch_positions = 262144;  // limit for one message
  size_t fetches_open = 524288;     // limit of fetched rows that are not begun yet
};

struct SessionParameters {
  uint32_t rank = 0;
  uint32_t world_size = 1;
  plan::StepSizes step_rows = 0;  // rows of the global step
  uint64_t records = 0;           // records of the snapshot
  uint64_t positions = 0;         // positions of an epoch
  plan::LastBatch last = plan::LastBatch::kDrop;
  std::string worker_id;  // the worker that owes the rows
  std::function<plan::EpochOrder(uint64_t epoch)> plan_of;
};

// Rows have their numbers on the wire: a position or, in a padded last step, a number at or after the epoch's end. The
// `step` of the requests orders steps across epochs.
//
// Grants are processed lazily and in order, so that a large one takes no memory. Messages come from outside. An invalid
// one returns InvalidArgument, and one after which too many grants or fetched rows are open returns ResourceExhausted,
// with the reason. The caller must end the stream with the error. Not thread-safe.
class SessionCore {
 public:
  // Returns InvalidArgument if rank, world size and step rows do not fit together or do not fit the data.
  static absl::StatusOr<SessionCore> Create(SessionParameters parameters, const SessionLimits& limits = {});

  // Returns the rows of the largest step of this rank.
  uint32_t slice_rows() const { return static_cast<uint32_t>(steps_.largest() / steps_.world_size()); }

  absl::Status UseView(const v1::View& view);
  // Returns FailedPrecondition if UseView has not named its view, or the view was dropped since then.
  absl::Status AddGrant(const v1::Grant& grant);
  // Queues a fetch, in a few bytes per row. Returns the bytes that the fetch occupies until NextFetched has returned
  // all of its rows, or 0 if it has no rows.
  absl::StatusOr<size_t> AddFetch(const v1::Fetch& fetch);
  // Returns the order number of the step that the trainer waits for.
  absl::StatusOr<uint64_t> Waiting(const v1::Waiting& waiting);

  // Returns the next rows that grants owe, at most `max_rows`. Stops after examining about `max_looked` rows of this
  // rank, and adds their number to *looked. May return no rows while HasMore().
  std::vector<loader::RowRequest> NextRows(size_t max_rows, size_t max_looked, size_t* looked);
  bool HasMore() const { return !grants_.empty(); }

  // Returns the rows that this session will request if later grants name the same view as the last one. Returns nullopt
  // if that has not changed since the last call.
  std::optional<loader::ExpectedRows> TakeExpected();

  // Returns the next rows of fetches, in the order of the requests, at most `max_rows`.
  std::vector<loader::RowRequest> NextFetched(size_t max_rows);
  bool HasFetches() const { return !fetches_.empty(); }
  size_t fetches() const { return fetches_.size(); }         // fetches with remaining rows
  size_t queued_fetches() const { return queued_fetches_; }  // their remaining rows

 private:
  struct KnownView {
    uint64_t term = 0;
    uint64_t number = 0;
    std::shared_ptr<const plan::OwnedKeys> keys;  // keys of this worker
  };
  struct OpenGrant {
    std::shared_ptr<const plan::OwnedKeys> keys;
    uint64_t epoch = 0;
    uint64_t step_begin = 0;  // begin of the next step
    uint64_t next_slot = 0;   // slot in that step
    uint64_t end = 0;
  };

  // A fetch. Row numbers are stored as differences, in zigzag varints: one or two bytes each for rows in order.
  struct OpenFetch {
    uint64_t epoch = 0;
    std::string rows;
    size_t next = 0;   // offset in `rows`
    uint64_t row = 0;  // last returned row
  };

  SessionCore(SessionParameters parameters, plan::Steps steps, const SessionLimits& limits)
      : parameters_(std::move(parameters)), steps_(steps), limits_(limits) {}

  // Number of rows of an epoch, including padding.
  uint64_t RowsEnd() const;
  uint64_t OrderOf(uint64_t epoch, uint64_t row);
  const plan::EpochOrder& PlanOf(uint64_t epoch);

  SessionParameters parameters_;
  plan::Steps steps_;
  SessionLimits limits_;
  std::deque<KnownView> views_;
  std::deque<OpenGrant> grants_;
  std::shared_ptr<const plan::OwnedKeys> expected_keys_;  // keys of the last grant
  std::optional<loader::ExpectedRows> expected_;          // until TakeExpected()
  std::deque<OpenFetch> fetches_;
  size_t queued_fetches_ = 0;
  std::optional<uint64_t> first_epoch_;
  std::optional<plan::EpochOrder> plan_;  // the last used plan
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_CORE_H_
