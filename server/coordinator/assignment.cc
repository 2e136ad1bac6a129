#include "server/coordinator/assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "server/coordinator/assignment_layout.h"

namespace penstock::coordinator {
namespace {

// A contiguous layout is simpler, so it is used if it moves at most this many times the minimum. It is used regardless
// of the moved weight if owners would otherwise have more runs than this on average.
constexpr double kContiguityIsWorth = 1.5;
constexpr size_t kMaxRunsPerWorker = 8;
// With at most this many workers, a new worker is tried at every place of the order.
constexpr size_t kTryAllPlaces = 64;

absl::Status CheckInput(const std::optional<plan::View>& previous, const std::vector<AssignWorker>& workers,
                        const KeyWeights& weights, const AssignOptions& options) {
  for (size_t i = 0; i < workers.size(); ++i) {
    const AssignWorker& worker = workers[i];
    if (worker.id.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the worker at ", worker.address, " has no id"));
    }
    if (i > 0 && workers[i - 1].id == worker.id) {  // workers are sorted by id
      return absl::InvalidArgumentError(absl::StrCat("worker ", worker.id, " is there twice, at ",
                                                     workers[i - 1].address, " and at ", worker.address));
    }
    if (!(worker.capacity >= 0) || !std::isfinite(worker.capacity)) {
      return absl::InvalidArgumentError(
          absl::StrCat("worker ", worker.id, " reports the capacity ", worker.capacity,
                       "; it must be a positive number of rows per second, or 0 while it is unknown"));
    }
  }
  if (!(options.tolerance >= 0 && options.tolerance < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tolerance of an assignment is ", options.tolerance, "; it is 0 to 1"));
  }
  if (!previous) return absl::OkStatus();
  PS_RETURN_IF_ERROR(previous->Validate());
  if (previous->key_space != weights.key_space() || previous->policy != options.policy) {
    return absl::InvalidArgumentError(absl::StrCat("view (", previous->term, ", ", previous->n, ") has ",
                                                   previous->key_space, " keys and policy ",
                                                   static_cast<int>(previous->policy), "; the job has ",
                                                   weights.key_space(), " and ", static_cast<int>(options.policy)));
  }
  return absl::OkStatus();
}

std::vector<Share> Shares(const std::vector<AssignWorker>& workers, double total, double tolerance) {
  double known = 0;
  int count = 0;
  for (const AssignWorker& worker : workers) {
    if (worker.capacity > 0) {
      known += worker.capacity;
      ++count;
    }
  }
  const double unknown = count > 0 ? known / count : 1;
  double sum = 0;
  for (const AssignWorker& worker : workers) sum += worker.capacity > 0 ? worker.capacity : unknown;
  std::vector<Share> shares;
  for (const AssignWorker& worker : workers) {
    const double ideal = total * (worker.capacity > 0 ? worker.capacity : unknown) / sum;
    shares.push_back({ideal * (1 - tolerance), ideal, ideal * (1 + tolerance)});
  }
  return shares;
}

// Returns the previous view with current worker indices, in which the keys of removed workers are free. Adds to
// `leavers` the middle of the keys of each removed worker.
Layout Before(const plan::View& previous, const std::vector<AssignWorker>& workers, const KeyWeights& weights,
              std::vector<double>* leavers) {
  std::map<std::string, int> index;
  for (size_t i = 0; i < workers.size(); ++i) index[workers[i].id] = static_cast<int>(i);
  Layout layout(&weights, workers.size());
  std::map<uint32_t, std::pair<double, double>> gone;  // by removed worker: weight, weight * middle
  for (const plan::ViewRange& range : previous.ranges) {
    const auto found = index.find(previous.workers[range.owner].id);
    if (found != index.end()) {
      layout.Assign(range.begin, range.end, found->second);
      continue;
    }
    const double weight = weights.Between(range.begin, range.end);
    auto& [sum, moment] = gone[range.owner];
    sum += weight;
    moment += weight * (weights.Before(range.begin) + weight / 2);
  }
  for (const auto& [owner, entry] : gone) leavers->push_back(entry.second / entry.first);
  return layout;
}

// Returns the best contiguous layout. Remaining workers are ordered by the middles of their keys. New workers take the
// places of removed ones, and further new workers the places that move least.
Layout BestContiguous(const KeyWeights& weights, const std::vector<Share>& shares, const Layout& before,
                      std::vector<double> leavers) {
  std::vector<double> moment(shares.size());
  for (const Run& run : before.runs()) {
    if (run.owner == Layout::kFree) continue;
    const double weight = before.Weight(run);
    moment[static_cast<size_t>(run.owner)] += weight * (weights.Before(run.begin) + weight / 2);
  }
  std::vector<std::pair<double, int>> placed;
  std::vector<int> newcomers;
  std::sort(leavers.begin(), leavers.end());
  for (size_t w = 0; w < shares.size(); ++w) {
    if (before.load(w) > 0) {
      placed.emplace_back(moment[w] / before.load(w), static_cast<int>(w));
    } else if (newcomers.size() < leavers.size()) {
      placed.emplace_back(leavers[newcomers.size()], static_cast<int>(w));
      newcomers.push_back(static_cast<int>(w));
    } else {
      newcomers.push_back(static_cast<int>(w));
    }
  }
  std::sort(placed.begin(), placed.end());
  std::vector<int> order;
  for (const auto& [middle, w] : placed) order.push_back(w);
  for (size_t k = std::min(leavers.size(), newcomers.size()); k < newcomers.size(); ++k) {
    size_t best = order.size() / 2;
    if (!placed.empty() && order.size() <= kTryAllPlaces) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t at = 0; at <= order.size(); ++at) {
        std::vector<int> trial = order;
        trial.insert(trial.begin() + static_cast<std::ptrdiff_t>(at), newcomers[k]);
        const double moved = before.MovedTo(Contiguous(weights, shares, trial, before));
        if (moved < least) {
          least = moved;
          best = at;
        }
      }
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(best), newcomers[k]);
  }
  return Contiguous(weights, shares, order, before);
}

Layout NextLayout(const std::optional<plan::View>& previous, const std::vector<AssignWorker>& workers,
                  const KeyWeights& weights, double tolerance) {
  const std::vector<Share> shares = Shares(workers, weights.total(), tolerance);
  std::vector<double> leavers;
  Layout before = previous ? Before(*previous, workers, weights, &leavers) : Layout(&weights, workers.size());
  const bool fresh = std::all_of(before.runs().begin(), before.runs().end(),
                                 [](const Run& run) { return run.owner == Layout::kFree; });
  if (fresh) {  // no keys to keep: divide evenly
    std::vector<int> order;
    for (size_t w = 0; w < workers.size(); ++w) order.push_back(static_cast<int>(w));
    return Contiguous(weights, Shares(workers, weights.total(), 0), order, before);
  }
  Layout patched = before;
  Patch(weights, shares, &patched);
  Layout contiguous = BestContiguous(weights, shares, before, std::move(leavers));
  const double least = before.MovedTo(patched), simple = before.MovedTo(contiguous);
  const bool too_many = patched.runs().size() > kMaxRunsPerWorker * workers.size();
  const bool worth = simple <= kContiguityIsWorth * least && contiguous.runs().size() < patched.runs().size();
  return too_many || worth || simple < least ? contiguous : patched;
}

// Workers of the previous view, by their current indices.
class History {
 public:
  History(const std::optional<plan::View>& previous, const std::vector<AssignWorker>& workers,
          const KeyWeights& weights)
      : previous_(previous), weights_(weights) {
    if (!previous_) return;
    for (const plan::ViewWorker& worker : previous_->workers) {
      const auto found = std::lower_bound(workers.begin(), workers.end(), worker.id,
                                          [](const AssignWorker& w, const std::string& id) { return w.id < id; });
      const bool here = found != workers.end() && found->id == worker.id;
      index_.push_back(here ? static_cast<int>(found - workers.begin()) : -1);
    }
  }

  // Returns the worker, other than `owner`, that had most of [begin, end) as owner or as backup, if it had at least
  // half. Otherwise returns -1.
  int Most(const Run& run, uint32_t plan::ViewRange::*role) const {
    if (!previous_ || previous_->ranges.empty()) return -1;
    std::map<int, double> had;
    for (size_t i = previous_->RangeOf(run.begin); i < previous_->ranges.size() && previous_->ranges[i].begin < run.end;
         ++i) {
      const plan::ViewRange& range = previous_->ranges[i];
      had[index_[range.*role]] += weights_.Between(std::max(range.begin, run.begin), std::min(range.end, run.end));
    }
    const double half = weights_.Between(run.begin, run.end) / 2;
    for (const auto& [worker, weight] : had) {
      if (worker >= 0 && worker != run.owner && weight >= half) return worker;
    }
    return -1;
  }

 private:
  const std::optional<plan::View>& previous_;
  const KeyWeights& weights_;
  std::vector<int> index_;
};

// Chooses a backup for each run. A worker that has the data already, as its owner or backup, comes first, then a
// neighbor. A candidate that would back more than twice its share is skipped, unless it backs no other run.
std::vector<uint32_t> Backups(const Layout& layout, const std::vector<Share>& shares, const History& history) {
  const std::vector<Run>& runs = layout.runs();
  std::vector<double> backing(shares.size());
  std::vector<uint32_t> backups;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    const double weight = layout.Weight(run);
    int chosen = -1;
    for (const int candidate : {history.Most(run, &plan::ViewRange::owner), history.Most(run, &plan::ViewRange::backup),
                                runs[(i + 1) % runs.size()].owner, runs[(i + runs.size() - 1) % runs.size()].owner}) {
      if (candidate < 0 || candidate == run.owner) continue;
      const size_t c = static_cast<size_t>(candidate);
      if (backing[c] > 0 && backing[c] + weight > 2 * shares[c].ideal) continue;
      chosen = candidate;
      break;
    }
    if (chosen < 0) {  // the worker with the smallest backed part
      double least = std::numeric_limits<double>::infinity();
      for (size_t c = 0; c < shares.size(); ++c) {
        const double ratio = (backing[c] + weight) / shares[c].ideal;
        if (static_cast<int>(c) != run.owner && ratio < least) {
          least = ratio;
          chosen = static_cast<int>(c);
        }
      }
    }
    if (chosen < 0) chosen = run.owner;  // the only worker
    backing[static_cast<size_t>(chosen)] += weight;
    backups.push_back(static_cast<uint32_t>(chosen));
  }
  return backups;
}

}  // namespace

KeyWeights KeyWeights::Uniform(uint64_t key_space) {
  KeyWeights weights;
  if (key_space == 0) return weights;
  weights.keys_.push_back(key_space);
  weights.weights_.push_back(static_cast<double>(key_space));
  return weights;
}

KeyWeights KeyWeights::OfShards(const std::vector<uint64_t>& records, const std::vector<uint64_t>& bytes) {
  PS_CHECK(records.size() == bytes.size());
  KeyWeights weights;
  weights.keys_.reserve(records.size() + 1);
  weights.weights_.reserve(records.size() + 1);
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i] == 0) continue;
    weights.keys_.push_back(weights.keys_.back() + records[i]);
    // A record also has a cost that does not depend on its bytes. Counting it keeps the sum strictly increasing.
    weights.weights_.push_back(weights.weights_.back() + static_cast<double>(bytes[i]) +
                               static_cast<double>(records[i]));
  }
  return weights;
}

double KeyWeights::Before(uint64_t key) const {
  const auto next = std::upper_bound(keys_.begin(), keys_.end(), key);
  if (next == keys_.end()) return weights_.back();
  const size_t i = static_cast<size_t>(next - keys_.begin());
  return weights_[i - 1] + (weights_[i] - weights_[i - 1]) *
                               (static_cast<double>(key - keys_[i - 1]) / static_cast<double>(keys_[i] - keys_[i - 1]));
}

uint64_t KeyWeights::KeyAt(double weight) const {
  if (!(weight > 0)) return 0;
  const auto next = std::upper_bound(weights_.begin(), weights_.end(), weight);
  if (next == weights_.end()) return keys_.back();
  const size_t i = static_cast<size_t>(next - weights_.begin());
  const double part = (weight - weights_[i - 1]) / (weights_[i] - weights_[i - 1]);
  const auto keys = static_cast<uint64_t>(std::floor(part * static_cast<double>(keys_[i] - keys_[i - 1]) + 0.5));
  return std::min(keys_[i], keys_[i - 1] + keys);
}

absl::StatusOr<plan::View> AssignRanges(const std::optional<plan::View>& previous,
                                        const std::vector<AssignWorker>& workers, const KeyWeights& weights,
                                        const AssignOptions& options) {
  std::vector<AssignWorker> sorted = workers;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const AssignWorker& a, const AssignWorker& b) { return a.id < b.id; });
  PS_RETURN_IF_ERROR(CheckInput(previous, sorted, weights, options));

  plan::View view;
  view.term = options.term;
  view.n = previous ? previous->n + 1 : 1;
  view.policy = options.policy;
  view.key_space = weights.key_space();
  for (const AssignWorker& worker : sorted)
    view.workers.push_back({worker.id, worker.address, worker.local, worker.name, worker.tls_name});
  if (sorted.empty() || view.key_space == 0) return view;

  const Layout layout = NextLayout(previous, sorted, weights, options.tolerance);
  const std::vector<uint32_t> backups =
      Backups(layout, Shares(sorted, weights.total(), 0), History(previous, sorted, weights));
  for (size_t i = 0; i < layout.runs().size(); ++i) {
    const Run& run = layout.runs()[i];
    view.ranges.push_back({run.begin, run.end, static_cast<uint32_t>(run.owner), backups[i]});
  }
  PS_CHECK(view.Validate().ok());
  return view;
}

}  // namespace penstock::coordinator
