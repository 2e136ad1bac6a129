#include "pipeline/plan/blend_schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace penstock::plan {
namespace {

// Part of the hash of each part's seed but the first. Fixed by the plan's version.
constexpr uint64_t kPartDomain = 0x626c656e642d7031;  // "blend-p1"

absl::Status ChangeError(size_t number, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat("blend.change[", number, "]", text));
}

absl::Status InChange(size_t number, const absl::Status& status) {
  return status.ok() ? status : ChangeError(number, absl::StrCat(": ", status.message()));
}

// Sets the weight in a step of a ramp to 0 if the ramp begins or ends with weight 0, and the share is smaller than a
// row of `rows`.
void DropSmallShares(const std::vector<double>& before, const std::vector<double>& after, uint64_t rows,
                     std::vector<double>* now) {
  const double total = std::accumulate(now->begin(), now->end(), 0.0);
  for (size_t set = 0; set < now->size(); ++set) {
    const bool is_faded = before[set] == 0 || after[set] == 0;
    if (is_faded && (*now)[set] * static_cast<double>(rows) < total) (*now)[set] = 0;
  }
}

}  // namespace

absl::StatusOr<BlendSchedule> BlendSchedule::Create(const std::vector<double>& weights,
                                                    const std::vector<WeightChange>& changes,
                                                    std::optional<uint64_t> seed, Blend::Block block, uint64_t unit) {
  BlendSchedule schedule;
  schedule.unit_ = unit;
  PS_RETURN_IF_ERROR(schedule.Add(0, weights, seed, block));
  if (changes.size() > kMaxChanges) {
    return absl::InvalidArgumentError(absl::StrCat("blend.change: at most ", kMaxChanges));
  }
  std::vector<double> before = weights;
  uint64_t end = 0;  // where the change before ends
  const uint64_t step_units = block.is_batch ? block.rows : Blend::kRun;
  for (size_t i = 0; i < changes.size(); ++i) {
    const WeightChange& change = changes[i];
    if (change.weights.size() != weights.size()) {
      return ChangeError(i, absl::StrCat(".weights: ", change.weights.size(), " for ", weights.size(), " data sets"));
    }
    if (change.at_rows < end || change.at_rows > UINT64_MAX / 4 || change.over_rows > UINT64_MAX / 4) {
      return ChangeError(i, absl::StrCat(".at_rows: ", change.at_rows, "; the change before it ends at row ", end,
                                         ", and rows are below 2^62"));
    }
    end = change.at_rows + change.over_rows;
    // Each part of a ramp has at least step_units units, and the weights of its middle.
    const uint64_t begin = change.at_rows / unit, units = change.over_rows / unit;
    const uint64_t steps = std::min(units / step_units, kRampSteps);
    for (uint64_t step = 0; step < steps; ++step) {
      const double done = (static_cast<double>(step) + 0.5) / static_cast<double>(steps);
      std::vector<double> now;
      for (size_t set = 0; set < weights.size(); ++set) {
        now.push_back(before[set] + (change.weights[set] - before[set]) * done);
      }
      DropSmallShares(before, change.weights, block.is_batch ? block.rows : Blend::kLargestBlock, &now);
      const auto passed = static_cast<uint64_t>(static_cast<unsigned __int128>(units) * step / steps);
      PS_RETURN_IF_ERROR(InChange(i, schedule.Add((begin + passed) / step_units * step_units, now, seed, block)));
    }
    PS_RETURN_IF_ERROR(InChange(i, schedule.Add(end / unit / step_units * step_units, change.weights, seed, block)));
    before = change.weights;
  }
  return schedule;
}

absl::Status BlendSchedule::Add(uint64_t begin, const std::vector<double>& weights, std::optional<uint64_t> seed,
                                Blend::Block block) {
  if (begin > 0 && seed.has_value()) seed = HashWords({kPartDomain, *seed, begin});
  PS_ASSIGN_OR_RETURN(Blend blend, Blend::Create(weights, seed, block));
  if (parts_.empty()) {
    units_before_.emplace_back(weights.size(), 0);
  } else if (begin == begins_.back()) {  // the part before has no rows
    parts_.back() = std::move(blend);
    return absl::OkStatus();
  } else {
    std::vector<uint64_t> rows = parts_.back().RowsBefore(begin - begins_.back());
    for (size_t set = 0; set < rows.size(); ++set) rows[set] += units_before_.back()[set];
    units_before_.push_back(std::move(rows));
  }
  begins_.push_back(begin);
  parts_.push_back(std::move(blend));
  return absl::OkStatus();
}

void BlendSchedule::ContinueAt(uint64_t place, std::vector<uint64_t> rows) {
  skipped_ = RowsBefore(place);
  start_ = place;
  first_ = std::move(rows);
}

size_t BlendSchedule::PartOf(uint64_t place) const {
  return static_cast<size_t>(std::upper_bound(begins_.begin() + 1, begins_.end(), place) - begins_.begin()) - 1;
}

std::vector<uint64_t> BlendSchedule::begins() const {
  std::vector<uint64_t> rows;
  for (const uint64_t begin : begins_) rows.push_back(begin * unit_);
  return rows;
}

Blend::Row BlendSchedule::UnitAt(uint64_t place) const {
  const size_t part = PartOf(place);
  const Blend::Row row = parts_[part].At(place - begins_[part]);
  return {row.set, units_before_[part][row.set] + row.number};
}

Blend::Row BlendSchedule::At(uint64_t place) const {
  const Blend::Row unit = UnitAt(place / unit_);
  Blend::Row row{unit.set, unit.number * unit_ + place % unit_};
  if (Continues(place)) row.number = row.number - skipped_[row.set] + first_[row.set];
  return row;
}

uint64_t BlendSchedule::PlaceOfUnit(const Blend::Row& row) const {
  const auto later = [&row](uint64_t number, const std::vector<uint64_t>& before) { return number < before[row.set]; };
  const auto after = std::upper_bound(units_before_.begin() + 1, units_before_.end(), row.number, later);
  const size_t part = static_cast<size_t>(after - units_before_.begin()) - 1;
  const uint64_t place = parts_[part].PlaceOf({row.set, row.number - units_before_[part][row.set]});
  return place == Blend::kNever ? place : begins_[part] + place;
}

uint64_t BlendSchedule::PlaceOf(const Blend::Row& row) const {
  if (!first_.empty() && row.number < first_[row.set]) return Blend::kNever;
  const uint64_t number = first_.empty() ? row.number : row.number - first_[row.set] + skipped_[row.set];
  const uint64_t place = PlaceOfUnit({row.set, number / unit_});
  return place == Blend::kNever ? place : place * unit_ + number % unit_;
}

uint64_t BlendSchedule::UnitsBefore(size_t set, uint64_t place) const {
  const size_t part = PartOf(place);
  return units_before_[part][set] + parts_[part].RowsBefore(set, place - begins_[part]);
}

uint64_t BlendSchedule::RowsBefore(size_t set, uint64_t place) const {
  uint64_t rows = UnitsBefore(set, place / unit_) * unit_;
  if (place % unit_ != 0 && UnitAt(place / unit_).set == set) rows += place % unit_;
  return Continues(place) ? rows - skipped_[set] + first_[set] : rows;
}

std::vector<uint64_t> BlendSchedule::RowsBefore(uint64_t place) const {
  const size_t part = PartOf(place / unit_);
  std::vector<uint64_t> rows = parts_[part].RowsBefore(place / unit_ - begins_[part]);
  for (size_t set = 0; set < rows.size(); ++set) rows[set] = (rows[set] + units_before_[part][set]) * unit_;
  if (place % unit_ != 0) rows[UnitAt(place / unit_).set] += place % unit_;
  for (size_t set = 0; set < rows.size() && Continues(place); ++set) rows[set] += first_[set] - skipped_[set];
  return rows;
}

}  // namespace penstock::plan
