#include "server/coordinator/state/capacity_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::coordinator {
namespace {

// Time constant of the average over the measurements of a worker that became faster.
constexpr double kSmooth = 1.0 * kSecond;

bool Known(double rate) { return std::isfinite(rate) && rate > 0 && rate < 1e12; }

}  // namespace

Nanos CapacityWatch::After(Nanos from, int relapses) const {
  return std::min(options_.most, from << std::min(relapses, 10));
}

std::map<std::string, double> CapacityWatch::Look(Nanos now, const std::vector<Worker>& workers) {
  const Nanos passed = looks_ == 0 ? 0 : now - last_;
  last_ = now;
  ++looks_;

  double known = 0, known_threads = 0;
  for (const Worker& worker : workers) {
    if (!Known(worker.used)) continue;
    known += worker.used;
    known_threads += std::max(worker.threads, 1.0);
  }
  const double per_thread = known_threads > 0 ? known / known_threads : 1;
  std::vector<double> used;
  for (const Worker& worker : workers) {
    used.push_back(Known(worker.used) ? worker.used : per_thread * std::max(worker.threads, 1.0));
  }

  // The common ratio of measured capacity to used capacity is the weighted median, so a few slow or fast workers do not
  // count. If two halves are equal, the faster one counts: if one of two workers is slow, the slow one is out of
  // balance.
  std::vector<std::pair<double, double>> ratios;  // ratio, weight
  double weight = 0;
  bool any_saturated = false;
  for (size_t i = 0; i < workers.size(); ++i) {
    any_saturated = any_saturated || workers[i].owing >= options_.saturated;
    if (!Known(workers[i].measured)) continue;
    ratios.emplace_back(workers[i].measured / used[i], used[i]);
    weight += used[i];
  }
  std::sort(ratios.begin(), ratios.end());
  double common = 0, below = 0;
  for (const auto& [ratio, w] : ratios) {
    common = ratio;
    below += w;
    if (below > weight * (0.5 + 1e-9)) break;
  }

  bool cut = false, raise = false;
  std::vector<double> next(workers.size());  // 0: unchanged, on the current scale
  for (size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = workers[i];
    History& history = history_[worker.id];
    history.looked = looks_;
    if (history.relapses > 0 && history.raised_at >= 0 && now - history.raised_at >= options_.most)
      history.relapses = 0;
    const double ratio = Known(worker.measured) && workers.size() >= 2 ? worker.measured / used[i] / common : 1;
    const auto since = [now](bool is, Nanos* start) {
      if (!is)
        *start = -1;
      else if (*start < 0)
        *start = now;
      return is ? now - *start : Nanos{-1};
    };
    const bool slow = ratio * (1 + options_.imbalance) < 1 && worker.owing >= options_.saturated;
    if (since(slow, &history.slow_since) >= options_.cut_after) {
      cut = true;
      next[i] = worker.measured;
    }
    const bool fast = ratio > 1 + options_.imbalance && any_saturated;
    const bool began = fast && history.fast_since < 0;
    const double part = began ? 1 : 1 - std::exp(-static_cast<double>(passed) / kSmooth);
    if (fast) history.fast += part * (worker.measured - history.fast);
    if (since(fast, &history.fast_since) >= After(options_.raise_after, history.relapses)) {
      raise = true;
      next[i] = history.fast;
    }
    // The worker has too few rows to get any requests, so no measurement can show that it recovered.
    const bool idle = history.cut && !fast && worker.owing < 0.01 && any_saturated;
    if (since(idle, &history.idle_since) >= After(options_.probe_after, history.relapses)) {
      raise = true;
      next[i] = -1;
    }
  }
  for (auto it = history_.begin(); it != history_.end();) {
    // A worker that left long ago starts without history.
    it = it->second.looked + 10000 < looks_ ? history_.erase(it) : std::next(it);
  }
  if (!cut && !raise) return {};

  double sum = 0;
  for (size_t i = 0; i < workers.size(); ++i) sum += next[i] > 0 ? next[i] : used[i] * common;
  const double mean = sum / static_cast<double>(workers.size());
  std::map<std::string, double> capacities;
  for (size_t i = 0; i < workers.size(); ++i) {
    History& history = history_[workers[i].id];
    const double before = used[i] * common;
    if (next[i] == 0) {
      if (Known(workers[i].used) || Known(workers[i].measured)) capacities[workers[i].id] = before;
      continue;
    }
    const double after = std::max(next[i] < 0 ? std::max(2 * before, mean / 2) : next[i], options_.least_share * mean);
    capacities[workers[i].id] = after;
    if (after < before) {
      history.cut = true;
      if (history.raised_at >= 0 && now - history.raised_at < options_.most) {
        history.relapses = std::min(history.relapses + 1, 10);
      }
    } else {
      history.raised_at = now;
    }
    history.slow_since = history.fast_since = history.idle_since = -1;
  }
  return capacities;
}

}  // namespace penstock::coordinator
