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

TrainerTotals::Counters TrainerTotals::CountersOf(Nanos now, const v1::ReportSessionRequest& report) {
  const v1::SessionTimes& times = report.times();
  Counters counters;
  counters.rows = report.rows();
  counters.bytes = times.bytes_received();
  counters.steps = times.steps();
  counters.waited_seconds = times.waited_seconds();
  counters.copy_seconds = times.copy_seconds() + times.seal_seconds();
  counters.reported = now;
  return counters;
}

TrainerTotals::Counters& TrainerTotals::LastOf(const SessionEntry& session, Rank* rank) {
  const auto own = rank->sessions.find(session.id);
  if (own != rank->sessions.end()) return own->second;
  // The counters of a session that resumes another one continue those of the other one.
  auto resumed = rank->sessions.extract(session.open.resumes());
  if (resumed.empty()) return rank->sessions[session.id];
  resumed.key() = session.id;
  return rank->sessions.insert(std::move(resumed)).position->second;
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
  Counters& last = LastOf(session, &rank);
  const Counters counters = CountersOf(now, report);
  const Counters then = std::exchange(last, counters);
  const double waited = CounterGrowth(then.waited_seconds, counters.waited_seconds);
  const uint64_t steps = CounterGrowth(then.steps, counters.steps);
  Sums& sums = rank.sums;
  sums.rows += CounterGrowth(then.rows, counters.rows);
  sums.bytes += CounterGrowth(then.bytes, counters.bytes);
  sums.waited_seconds += waited;
  sums.copy_seconds += CounterGrowth(then.copy_seconds, counters.copy_seconds);
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
  for (auto& [key, rank] : ranks_) {
    std::erase_if(rank.sessions, [now](const auto& of) { return now - of.second.reported > kKeep; });
  }
}

}  // namespace penstock::coordinator
