#include "pipeline/plan/blend.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"

namespace penstock::plan {
namespace {

// Part of the hash, so that no other use shares the key. Fixed by the plan's version.
constexpr uint64_t kRunDomain = 0x626c656e642d7231;  // "blend-r1"

// Returns the counts of a block of `block` rows by largest remainders. A tie goes to the first set.
std::vector<uint64_t> CountsOf(std::span<const double> weights, double total, uint64_t block) {
  std::vector<uint64_t> counts;
  std::vector<std::pair<double, size_t>> remainders;  // negative, so that the largest comes first
  uint64_t given = 0;
  for (size_t set = 0; set < weights.size(); ++set) {
    const double exact = weights[set] / total * static_cast<double>(block);
    counts.push_back(static_cast<uint64_t>(exact));
    if (weights[set] > 0) remainders.emplace_back(static_cast<double>(counts.back()) - exact, set);
    given += counts.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; given < block; ++i, ++given) ++counts[remainders[i % remainders.size()].second];
  // Rounding may give one row too many if there is only one set, or if the shares are whole.
  for (size_t i = remainders.size(); given > block; --given) --counts[remainders[--i].second];
  return counts;
}

// Returns the set of each slot of a block. A set with count c gives its row j in one of the slots from
// ceil((j n + 1) b / (c n)) to floor((j n + n - 1) b / (c n)). Slots count from 1, b is their number, and n is twice
// the number of sets minus 2. Tijdeman has proved that the earliest deadline first keeps all rows in their slots.
std::vector<uint16_t> Arrange(std::span<const uint64_t> counts, uint64_t block) {
  const uint64_t n = std::max<uint64_t>(2, 2 * counts.size() - 2);
  using Due = std::pair<uint64_t, uint32_t>;  // slot, set
  using Queue = std::priority_queue<Due, std::vector<Due>, std::greater<>>;
  Queue later, now;
  std::vector<uint64_t> given(counts.size(), 0);
  const auto release = [&](uint32_t set) {
    if (given[set] == counts[set]) return;
    const uint64_t divisor = counts[set] * n;
    later.emplace(((given[set] * n + 1) * block + divisor - 1) / divisor, set);
  };
  for (uint32_t set = 0; set < counts.size(); ++set) release(set);
  std::vector<uint16_t> out;
  out.reserve(block);
  for (uint64_t slot = 1; slot <= block; ++slot) {
    for (; !later.empty() && later.top().first <= slot; later.pop()) {
      const uint32_t set = later.top().second;
      now.emplace((given[set] * n + n - 1) * block / (counts[set] * n), set);
    }
    PS_CHECK(!now.empty());  // the sets' lags behind their shares add up to 1
    const uint32_t set = now.top().second;
    now.pop();
    out.push_back(static_cast<uint16_t>(set));
    ++given[set];
    release(set);
  }
  return out;
}

}  // namespace

absl::StatusOr<Blend> Blend::Create(std::span<const double> weights, std::optional<uint64_t> seed, Block wanted) {
  if (weights.empty() || weights.size() > kMaxSets) {
    return absl::InvalidArgumentError(
        absl::StrCat("a blend of ", weights.size(), " data sets; it may have 1 to ", kMaxSets));
  }
  double total = 0, least = std::numeric_limits<double>::infinity();
  for (size_t set = 0; set < weights.size(); ++set) {
    if (!(weights[set] >= 0) || !std::isfinite(weights[set])) {
      return absl::InvalidArgumentError(
          absl::StrCat("dataset[", set, "].weight is ", weights[set], "; it must be a number that is not negative"));
    }
    total += weights[set];
    if (weights[set] > 0) least = std::min(least, weights[set]);
  }
  if (total == 0) return absl::InvalidArgumentError("dataset.weight: all weights are 0");
  if (!std::isfinite(total)) return absl::InvalidArgumentError("dataset.weight: the sum of the weights is too large");
  uint64_t block = wanted.rows > 0 ? wanted.rows : kLeastBlock;
  while (wanted.rows == 0 && block < kLargestBlock && least / total * static_cast<double>(block) < 1) block *= 2;
  const std::vector<uint64_t> counts = CountsOf(weights, total, block);
  for (size_t set = 0; set < weights.size(); ++set) {
    if (counts[set] > 0 || weights[set] == 0) continue;
    const double share = weights[set] / total;
    if (wanted.is_batch) {
      return absl::InvalidArgumentError(absl::StrCat("blend.batches: EXACT, and batch.size is ", block,
                                                     ", but dataset[", set, "] has a share of ", share,
                                                     "; a batch needs about ", std::ceil(1 / share), " rows"));
    }
    return absl::InvalidArgumentError(absl::StrCat("dataset[", set, "].weight: a share of ", share,
                                                   "; the smallest possible one is 1 of ", block, " rows"));
  }
  Blend blend;
  blend.seed_ = seed;
  const auto divisor = [](uint64_t a, uint64_t b) { return std::gcd(a, b); };
  blend.period_ = !wanted.is_batch ? block : block / std::accumulate(counts.begin(), counts.end(), block, divisor);
  blend.set_ = Arrange(counts, block);
  blend.begins_.resize(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), blend.begins_.begin() + 1);
  blend.slots_.resize(block);
  std::vector<uint64_t> next(blend.begins_.begin(), blend.begins_.end() - 1);
  blend.numbers_.reserve(block);
  for (uint32_t slot = 0; slot < block; ++slot) {
    const uint16_t set = blend.set_[slot];
    blend.numbers_.push_back(static_cast<uint32_t>(next[set] - blend.begins_[set]));
    blend.slots_[next[set]++] = slot;
  }
  return blend;
}

Blend::RunPlace Blend::RunOf(uint64_t place) const {
  const uint64_t in_period = place % period_, at = in_period % kRun, runs = (period_ + kRun - 1) / kRun;
  return {.run = place / period_ * runs + in_period / kRun,
          .rows = std::min(kRun, period_ - (in_period - at)),
          .first_slot = place % block_rows() - at,
          .at = at};
}

// Fisher and Yates, from the first place on, with one hash for each step.
Blend::Run Blend::OrderOf(const RunPlace& run, uint64_t places) const {
  Run order;
  std::iota(order.begin(), order.end(), uint8_t{0});
  if (!seed_.has_value()) return order;
  uint64_t state = HashWords({kRunDomain, *seed_, run.run});
  for (uint64_t i = 0; i < places; ++i) {
    // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    std::swap(order[i], order[i + (((mixed >> 32) * (run.rows - i)) >> 32)]);
  }
  return order;
}

uint64_t Blend::NumberAt(uint16_t set, uint64_t first_slot, uint64_t slot) const {
  const auto begin = set_.begin() + static_cast<ptrdiff_t>(first_slot);
  const auto end = set_.begin() + static_cast<ptrdiff_t>(slot);
  return numbers_[slot] - static_cast<uint64_t>(std::count(begin, end, set));
}

Blend::Row Blend::At(uint64_t place) const {
  const RunPlace run = RunOf(place);
  const Run order = OrderOf(run, run.at + 1);
  const uint64_t slot = run.first_slot + order[run.at];
  const uint16_t set = set_[slot];
  uint64_t number = place / block_rows() * count(set) + NumberAt(set, run.first_slot, slot);
  for (uint64_t i = 0; i < run.at; ++i) number += set_[run.first_slot + order[i]] == set ? 1 : 0;
  return {set, number};
}

uint64_t Blend::PlaceOf(const Row& row) const {
  if (count(row.set) == 0) return kNever;
  const uint64_t in_block = row.number % count(row.set);
  const uint64_t slot = slots_[begins_[row.set] + in_block];
  const uint64_t place = row.number / count(row.set) * block_rows() + slot;
  const RunPlace run = RunOf(place);
  const Run order = OrderOf(run, run.rows);
  uint64_t left = in_block - NumberAt(static_cast<uint16_t>(row.set), run.first_slot, slot);
  uint64_t at = 0;
  while (set_[run.first_slot + order[at]] != row.set || left-- > 0) ++at;
  return place - run.at + at;
}

uint64_t Blend::RowsBeforeRun(size_t set, uint64_t place) const {
  const auto begin = slots_.begin() + static_cast<ptrdiff_t>(begins_[set]);
  const auto end = slots_.begin() + static_cast<ptrdiff_t>(begins_[set + 1]);
  const uint64_t first_slot = RunOf(place).first_slot;
  return place / block_rows() * count(set) + static_cast<uint64_t>(std::lower_bound(begin, end, first_slot) - begin);
}

uint64_t Blend::RowsBefore(size_t set, uint64_t place) const {
  const RunPlace run = RunOf(place);
  uint64_t rows = RowsBeforeRun(set, place);
  const Run order = OrderOf(run, run.at);
  for (uint64_t i = 0; i < run.at; ++i) rows += set_[run.first_slot + order[i]] == set ? 1 : 0;
  return rows;
}

std::vector<uint64_t> Blend::RowsBefore(uint64_t place) const {
  const RunPlace run = RunOf(place);
  std::vector<uint64_t> rows(sets());
  for (size_t set = 0; set < rows.size(); ++set) rows[set] = RowsBeforeRun(set, place);
  const Run order = OrderOf(run, run.at);
  for (uint64_t i = 0; i < run.at; ++i) ++rows[set_[run.first_slot + order[i]]];
  return rows;
}

}  // namespace penstock::plan
