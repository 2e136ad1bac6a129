// Part of the delivery core: workers that send, but so slowly that they delay the trainer.
//
// A worker makes rows in the order of their steps, and cannot skip one. Asking other workers for the rows
// of a slightly slow worker therefore only duplicates work; the coordinator adjusts its share instead. Only if a worker
// needs far longer for its share than the others for theirs, the core asks the others for its rows near the trainer:
// these workers wait for the slow one anyway. In a fleet that is slow as a whole no worker needs far longer than the
// others, and no row is requested twice.
#include <algorithm>
#include <utility>
#include <vector>

#include "client/delivery/delivery_tracker.h"
#include "client/delivery/look_ahead.h"

namespace penstock::client {
namespace {

constexpr Nanos kSlowNoticeAfter = 100 * kMillisecond;
// Minimum time over which a pace is measured.
constexpr Nanos kJudgeOver = 500 * kMillisecond;
constexpr Nanos kSureAfter = kSecond;
// Factor that counts as far longer.
constexpr double kFarLonger = 2.5;
// Minimum number of rows that the usual pace would have produced in the measured time. With fewer rows, chance has as
// much effect.
constexpr double kEnoughRows = 20;
// Minimum time that the worker still needs for the step, unless such waits are frequent.
constexpr double kWorthSeconds = 0.1;
// Minimum time between two restarts of a slow worker's stream.
constexpr Nanos kRestartAfter = kSecond;
// A worker without missing rows near the head for this long keeps up.
constexpr Nanos kForgetAfter = 2 * kSecond;
// A view that leaves a slow worker at most this fraction of its share has taken its slowness into account.
constexpr double kCutTo = 0.8;

}  // namespace

std::vector<DeliveryTracker::Owed> DeliveryTracker::OwedOfHead() const {
  const BookedStep& head = booked_.front();
  std::vector<Owed> owed(workers_.size());
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    const RowAsk& ask = head.asks[row];
    if (head.rows[row] != BookedStep::Row::kMissing || ask.worker == kNoWorker) continue;
    ++owed[ask.worker].rows;
    owed[ask.worker].since = std::min(owed[ask.worker].since, ask.asked_at);
  }
  return owed;
}

std::vector<double> DeliveryTracker::SharesUnder(const plan::View& view) const {
  uint64_t begin = 0, end = view.key_space;
  if (view.policy == plan::AssignPolicy::kByRank) {
    const uint64_t size = steps_.SizeAt(head_), slice = size / steps_.world_size();
    begin = plan::RankKey(options_.rank * slice, size);
    end = plan::RankKey((options_.rank + 1) * slice - 1, size) + 1;
  }
  std::vector<double> shares(workers_.size());
  for (const plan::ViewRange& range : view.ranges) {
    const uint64_t from = std::max(range.begin, begin), to = std::min(range.end, end);
    const uint32_t worker = workers_.Find(view.workers[range.owner].id);
    if (from < to && worker != kNoWorker) {
      shares[worker] += static_cast<double>(to - from) / static_cast<double>(end - begin);
    }
  }
  return shares;
}

double DeliveryTracker::UsualTime(const std::vector<double>& shares, uint32_t except, Nanos now) const {
  std::vector<double> times;
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    const double best = std::max(worker.pace.Best(now), worker.pace.OwedRate(now));
    if (i == except || !worker.usable() || shares[i] <= 0 || best <= 0) continue;
    times.push_back(shares[i] / best);
  }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

bool DeliveryTracker::AnySlow() const {
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].slow) return true;
  }
  return false;
}

std::vector<uint32_t> DeliveryTracker::WellWithRoom() const {
  std::vector<uint32_t> well;
  for (const uint32_t i : workers_.in_view()) {
    if (workers_[i].usable() && HasRoom(i)) well.push_back(i);
  }
  return well;
}

void DeliveryTracker::FindSlow(Nanos now) {
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    TrackedWorker& worker = workers_[i];
    if (worker.slow && now - worker.slow_seen > kForgetAfter) worker.slow = false;
  }
  if (!waiting_since_.has_value() || booked_.empty() || head_complete() || now < find_slow_at_) return;
  const Nanos waited = now - *waiting_since_;
  const bool often = recent_waits_.Often(now, waited);
  if (waited < kSlowNoticeAfter && !often) return;
  find_slow_at_ = now + LookPause();
  BookedStep& head = booked_.front();
  EnsureAsks(&head);
  const std::vector<Owed> owed = OwedOfHead();
  const std::vector<double> shares = SharesUnder(*head.view);
  // A worker that owes rows of this step has owed rows since the request, so its pace is known.
  std::vector<double> rates(workers_.size());
  std::vector<Nanos> spans(workers_.size());
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    TrackedWorker& worker = workers_[i];
    if (owed[i].rows == 0 || worker.first_row < 0) continue;
    spans[i] = std::min(now - std::max({owed[i].since, worker.first_row, resumed_at_}), Pace::kLongest);
    if (spans[i] < kJudgeOver) {
      // With small steps, no step is owed for long.
      spans[i] = worker.pace.OwedTime(now);
      if (spans[i] >= kJudgeOver) rates[i] = worker.pace.OwedRate(now);
      continue;
    }
    rates[i] = worker.pace.Rate(now, now - spans[i]);
    if (spans[i] >= kSureAfter && rates[i] < worker.pace.Best(now)) worker.pace.Correct(rates[i], now);
  }
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    TrackedWorker& worker = workers_[i];
    if (rates[i] <= 0 || shares[i] <= 0 || worker.slow) continue;
    const double usual = UsualTime(shares, i, now);
    if (usual <= 0 || shares[i] / usual * static_cast<double>(spans[i]) / kSecond < kEnoughRows) continue;
    if (shares[i] / rates[i] < kFarLonger * usual) continue;
    if (!often && static_cast<double>(owed[i].rows) / rates[i] < kWorthSeconds) continue;
    worker.slow = true;
    worker.slow_seen = worker.slow_since = now;
    worker.slow_from = head_ordinal_;
  }
}

void DeliveryTracker::ChaseSlow(Nanos now) {
  if (!AnySlow()) return;
  // Spread the rows over all workers that keep up, so that they do not delay another one.
  const std::vector<uint32_t> others = WellWithRoom();
  if (others.empty()) return;
  Fetches fetches;
  const uint64_t end = std::min<uint64_t>(booked_.size(), LookAhead(options_.window_steps));
  for (uint64_t i = 0; i < end; ++i) {
    BookedStep& step = booked_[i];
    if (step.complete()) continue;
    EnsureAsks(&step);
    for (uint64_t row = 0; row < step.rows.size(); ++row) {
      const uint32_t worker = step.asks[row].worker;
      if (step.rows[row] != BookedStep::Row::kMissing || worker == kNoWorker || !workers_[worker].slow) continue;
      workers_[worker].slow_seen = now;
      const uint32_t next = others[(step.RowNumber(row) + step.asks[row].tries) % others.size()];
      if (HasRoom(next) && !Refuses(step, row, next)) Ask(&step, row, next, now, &fetches);
    }
  }
  Send(std::move(fetches));
}

void DeliveryTracker::Restart(uint32_t worker, Nanos now) {
  commands_.push_back(CloseStream{workers_[worker].stream});
  workers_.Closed(worker);
  workers_[worker].slow_from = head_ordinal_;
  workers_[worker].slow_since = now;
  Disown(worker);
}

// The trainer consumed a whole window while this worker was slow, so the worker is making rows that the trainer no
// longer needs. A restart drops them. The worker then has time until the trainer reaches the next grant, and shows
// whether it is fast again.
void DeliveryTracker::FreeSlow(Nanos now) {
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const TrackedWorker& worker = workers_[i];
    if (worker.slow && worker.has_stream() && head_ordinal_ - worker.slow_from >= options_.window_steps &&
        now - worker.slow_since >= kRestartAfter) {
      Restart(i, now);
    }
  }
}

// Grants under views that overestimated a slow worker would keep it busy for long with rows that others now provide,
// and would also delay its new, smaller share.
void DeliveryTracker::DropOldGrants(Nanos now) {
  if (booked_.empty()) return;
  const std::vector<double> after = SharesUnder(*view_), before = SharesUnder(*booked_.front().view);
  for (uint32_t i = 0; i < workers_.size(); ++i) {
    const TrackedWorker& worker = workers_[i];
    if (worker.slow && worker.has_stream() && after[i] <= kCutTo * before[i]) Restart(i, now);
  }
}

}  // namespace penstock::client
