#include "server/coordinator/state/trainer_totals.h"

#include <algorithm>
#include <utility>

#include "base/counter_growth.h"

namespace penstock::coordinator {
namespace {

constexpr Nanos kLookPause = 10 * kSecond;

}  // namespace

void TrainerTotals::Sums::Add(const Sums& other) {
  rows += other.rows;
  bytes += other.bytes;
  waited_seconds += other.waited_seconds;
  copy_seconds += other.copy_seconds;
  for (size_t i = 0; i < steps_by_wait.size(); ++i) steps_by_wait[i] += other.steps_by_wait[i];
  steps_waited_seconds += other.steps_waited_seconds;
}

void TrainerTotals::Add(Nanos now, const SessionEntry& session, const v1::ReportSessionRequest& report) {
  const Key key(session.open.job(), session.open.rank());
  auto found = ranks_.find(key);
  const bool known = found != ranks_.end();
  if (!known) {
    if (ranks_.size() >= kMostRanks) return;
    found = ranks_.emplace(key, Rank()).first;
  }
  Rank& rank = found->second;
  rank.world_size = session.open.world_size();
  rank.last_report = now;
  // The first report of a session that resumes another one repeats what the other one has reported.
  if (session.reports == 0 && !session.open.resumes().empty()) return;
  const v1::SessionTimes& then = session.last.times();
  const v1::SessionTimes& times = report.times();
  const double waited = CounterGrowth(then.waited_seconds(), times.waited_seconds());
  const uint64_t steps = CounterGrowth(then.steps(), times.steps());
  Sums& sums = rank.sums;
  sums.rows += CounterGrowth(session.last.rows(), report.rows());
  sums.bytes += CounterGrowth(then.bytes_received(), times.bytes_received());
  sums.waited_seconds += waited;
  const double copied = times.copy_seconds() + times.seal_seconds();
  sums.copy_seconds += CounterGrowth(then.copy_seconds() + then.seal_seconds(), copied);
  rank.step_waited += waited;
  if (steps == 0) return;
  const double each = rank.step_waited / static_cast<double>(steps);
  const auto* const bound = std::lower_bound(kWaitBounds.begin(), kWaitBounds.end(), each);
  sums.steps_by_wait[static_cast<size_t>(bound - kWaitBounds.begin())] += steps;
  sums.steps_waited_seconds += std::exchange(rank.step_waited, 0);
}

void TrainerTotals::Tick(Nanos now) {
  if (now < next_look_) return;
  next_look_ = now + kLookPause;
  std::erase_if(ranks_, [now](const auto& of) { return now - of.second.last_report > kKeep; });
}

}  // namespace penstock::coordinator
