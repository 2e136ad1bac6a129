#include "server/worker/stream/session_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/view_proto.h"

namespace penstock::worker {
namespace {

// Memory of a queued fetch without its list of rows, including its budget lease.
constexpr size_t kFetchOverhead = 256;

// Maps differences of row numbers, modulo 2^64, so that small ones of either sign are small numbers.
uint64_t ZigZag(uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
uint64_t UnZigZag(uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

uint64_t TakeVarint(const std::string& in, size_t* at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in[(*at)++]);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace

absl::StatusOr<SessionCore> SessionCore::Create(SessionParameters parameters, const SessionLimits& limits) {
  if (parameters.world_size == 0 || parameters.rank >= parameters.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", parameters.rank, " of a world of ", parameters.world_size, ": there is no such rank"));
  }
  PS_ASSIGN_OR_RETURN(const plan::Steps steps, plan::Steps::Create(parameters.positions, parameters.step_rows,
                                                                   parameters.last, parameters.world_size));
  return SessionCore(std::move(parameters), steps, limits);
}

uint64_t SessionCore::RowsEnd() const {
  return steps_.positions() + (steps_.last() == plan::LastBatch::kPad ? steps_.largest() : 0);
}

uint64_t SessionCore::OrderOf(uint64_t epoch, uint64_t row) {
  if (!first_epoch_) first_epoch_ = epoch;
  // A client that goes back only fetches from epochs before the first one. Their rows come before all others.
  const uint64_t epochs = epoch < *first_epoch_ ? 0 : epoch - *first_epoch_;
  const unsigned __int128 order =
      static_cast<unsigned __int128>(epochs) * (steps_.positions() + steps_.largest()) + row;
  return order > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(order);
}

const plan::EpochOrder& SessionCore::PlanOf(uint64_t epoch) {
  if (!plan_ || plan_->epoch() != epoch) plan_ = parameters_.plan_of(epoch);
  return *plan_;
}

absl::Status SessionCore::UseView(const v1::View& proto) {
  PS_ASSIGN_OR_RETURN(const plan::View view, net::FromProto(proto));
  const uint64_t expected = view.policy == plan::AssignPolicy::kByRank ? plan::kRankKeySpace : parameters_.records;
  if (view.key_space != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("view ", view.term, ".", view.n, " is over ", view.key_space, " keys, this job has ", expected));
  }
  for (const KnownView& known : views_) {
    if (known.term == view.term && known.number == view.n) return absl::OkStatus();
  }
  if (views_.size() >= limits_.views) views_.pop_front();
  views_.push_back(
      {view.term, view.n, std::make_shared<const plan::OwnedKeys>(plan::OwnedKeys::Of(view, parameters_.worker_id))});
  return absl::OkStatus();
}

absl::Status SessionCore::AddGrant(const v1::Grant& grant) {
  const auto view = std::find_if(views_.begin(), views_.end(), [&](const auto& known) {
    return known.term == grant.view_term() && known.number == grant.view_number();
  });
  if (view == views_.end()) {
    return absl::FailedPreconditionError(absl::StrCat("a grant under view ", grant.view_term(), ".",
                                                      grant.view_number(), ", which was not named by use_view before"));
  }
  if (grant.begin() >= grant.end() || grant.begin() >= steps_.positions() || grant.end() > RowsEnd()) {
    return absl::InvalidArgumentError(absl::StrCat("a grant of rows [", grant.begin(), ", ", grant.end(),
                                                   "): an epoch of this job has ", steps_.positions(), " positions"));
  }
  if (grants_.size() >= limits_.grants) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", limits_.grants, " open grants in one session"));
  }
  OrderOf(grant.epoch(), 0);
  OpenGrant open;
  open.keys = view->keys;
  open.epoch = grant.epoch();
  open.step_begin = grant.begin();
  open.end = grant.end();
  if (expected_keys_ != open.keys) {
    expected_keys_ = open.keys;
    expected_.emplace(steps_, parameters_.rank, plan::Cursor{grant.epoch(), grant.begin()}, plan::kWithoutEnd,
                      open.keys);
  }
  grants_.push_back(std::move(open));
  return absl::OkStatus();
}

std::optional<loader::ExpectedRows> SessionCore::TakeExpected() { return std::exchange(expected_, std::nullopt); }

absl::StatusOr<size_t> SessionCore::AddFetch(const v1::Fetch& fetch) {
  const size_t count = static_cast<size_t>(fetch.positions_size());
  if (count > limits_.fetch_positions) {
    return absl::InvalidArgumentError(
        absl::StrCat("a fetch of ", count, " rows; at most ", limits_.fetch_positions, " at once"));
  }
  if (queued_fetches_ + count > limits_.fetches_open) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", limits_.fetches_open, " fetched rows are open in one session"));
  }
  if (count == 0) return 0;
  OpenFetch open;
  open.epoch = fetch.epoch();
  uint64_t last = 0;
  for (const uint64_t row : fetch.positions()) {
    if (row >= RowsEnd()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a fetch of row ", row, ": an epoch of this job has ", steps_.positions(), " positions"));
    }
    AppendVarint(ZigZag(row - last), &open.rows);
    last = row;
  }
  OrderOf(open.epoch, 0);
  open.rows.shrink_to_fit();
  const size_t bytes = open.rows.capacity() + kFetchOverhead;
  queued_fetches_ += count;
  fetches_.push_back(std::move(open));
  return bytes;
}

std::vector<loader::RowRequest> SessionCore::NextFetched(size_t max_rows) {
  std::vector<loader::RowRequest> rows;
  while (!fetches_.empty() && rows.size() < max_rows) {
    OpenFetch& open = fetches_.front();
    open.row += UnZigZag(TakeVarint(open.rows, &open.next));
    loader::RowRequest request;
    request.epoch = open.epoch;
    request.position = steps_.PositionOfRow(open.row);
    request.step = OrderOf(open.epoch, open.row);
    request.urgent = true;
    request.tag = open.row | kFetchedTag;
    rows.push_back(request);
    --queued_fetches_;
    if (open.next == open.rows.size()) fetches_.pop_front();
  }
  return rows;
}

absl::StatusOr<uint64_t> SessionCore::Waiting(const v1::Waiting& waiting) {
  if (waiting.begin() >= RowsEnd()) {
    return absl::InvalidArgumentError(absl::StrCat("waiting for row ", waiting.begin(), ": an epoch of this job has ",
                                                   steps_.positions(), " positions"));
  }
  return OrderOf(waiting.epoch(), waiting.begin());
}

std::vector<loader::RowRequest> SessionCore::NextRows(size_t max_rows, size_t max_looked, size_t* all_looked) {
  std::vector<loader::RowRequest> rows;
  size_t looked = 0;
  while (!grants_.empty() && rows.size() < max_rows && looked < max_looked) {
    OpenGrant& grant = grants_.front();
    const plan::StepSpan step = steps_.StepAt({grant.epoch, grant.step_begin});
    if (grant.step_begin >= grant.end || step.epoch != grant.epoch) {
      grants_.pop_front();
      continue;
    }
    const plan::SlotRange slice = steps_.Slice(step, parameters_.rank);
    const plan::EpochOrder& plan = PlanOf(grant.epoch);
    const uint64_t order = OrderOf(grant.epoch, step.begin);
    uint64_t slot = std::max(slice.begin, grant.next_slot);
    for (; slot < slice.end && rows.size() < max_rows && looked < max_looked; ++slot, ++looked) {
      const uint64_t row = step.begin + slot;
      if (row >= grant.end) break;
      const uint64_t position = steps_.PositionOfRow(row);
      const uint64_t key = grant.keys->policy() == plan::AssignPolicy::kByRank ? plan::RankKey(slot, step.size)
                                                                               : plan.RecordAt(position);
      if (!grant.keys->Contains(key)) continue;
      loader::RowRequest request;
      request.epoch = grant.epoch;
      request.position = position;
      request.step = order;
      request.tag = row;
      rows.push_back(request);
    }
    if (slot < slice.end && step.begin + slot < grant.end) {
      grant.next_slot = slot;
      continue;
    }
    ++looked;  // so that many steps with an empty slice end too
    grant.step_begin += step.rows;
    grant.next_slot = 0;
  }
  *all_looked += looked;
  return rows;
}

}  // namespace penstock::worker
