#include "pipeline/plan/sorted_order.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/plan/permutation.h"

namespace penstock::plan {
namespace {

// The use of a hash. Fixed by the plan's version.
constexpr uint64_t kBatchDomain = 0x736f727465642d62;  // "sorted-b"
constexpr uint64_t kCutDomain = 0x736f727465642d63;    // "sorted-c"
constexpr uint64_t kWholeDomain = 0x736f727465642d77;  // "sorted-w"

// Batches of different sizes in an epoch. Each process has 8 bytes for each of them, for up to 8 epochs.
constexpr uint64_t kMostBatches = uint64_t{1} << 22;

}  // namespace

absl::StatusOr<SortedOrder> SortedOrder::Create(std::shared_ptr<const ShardOffsets> offsets,
                                                std::shared_ptr<const GroupMap> groups, const PlanOptions& shuffle,
                                                const SortOptions& options) {
  SortedOrder order;
  order.options_ = options;
  order.shuffle_ = shuffle;
  order.shuffle_.repeats = 1;
  order.shuffle_.seed = HashWords({kWholeDomain, shuffle.seed});
  order.begins_.push_back(0);
  for (uint32_t group = 0; group < groups->groups(); ++group) {
    order.begins_.push_back(order.begins_.back() + groups->offsets(group)->num_records());
  }
  if (order.begins_.back() == 0) return absl::InvalidArgumentError("there are no records to sort");
  PS_RETURN_IF_ERROR(EpochPlan::Create(offsets, order.shuffle_, 0).status());
  if (options.rule.has_value()) {
    std::vector<std::string_view> names;
    std::vector<uint64_t> rows;
    for (uint32_t group = 0; group < groups->groups(); ++group) {
      names.push_back(groups->name(group));
      rows.push_back(groups->offsets(group)->num_records());
    }
    PS_ASSIGN_OR_RETURN(order.limits_, BatchLimits(names, *options.rule, options.batch));
    const auto seed = shuffle.shuffle == Shuffle::kNone ? std::nullopt : std::optional(order.shuffle_.seed);
    BatchCut cut(rows, order.limits_, options.rule->multiple);
    if (cut.batches() > kMostBatches) {
      return absl::InvalidArgumentError(absl::StrCat("select.bucket: an epoch has ", cut.batches(),
                                                     " batches; at most ", kMostBatches,
                                                     ": raise the budget, the sizes or batch.size"));
    }
    order.batches_ = std::make_shared<const BatchSequence>(std::move(cut), seed);
  }
  order.offsets_ = std::move(offsets);
  order.groups_ = std::move(groups);
  return order;
}

EpochPlan SortedOrder::WholePass(uint64_t pass) const {
  absl::StatusOr<EpochPlan> plan = EpochPlan::Create(offsets_, shuffle_, pass);
  PS_CHECK(plan.ok());  // the checks do not depend on the pass
  return *std::move(plan);
}

SortedOrder::Batches SortedOrder::BatchesOf(uint64_t pass) const {
  const uint64_t rows = begins_.back();
  Batches batches{.whole = rows / options_.batch, .rest = rows % options_.batch};
  batches.cut = batches.whole;
  if (shuffle_.shuffle == Shuffle::kNone) return batches;
  batches.cut = HashWords({kCutDomain, shuffle_.seed, pass}) % (batches.whole + 1);
  batches.key = HashWords({kBatchDomain, shuffle_.seed, pass});
  return batches;
}

uint64_t SortedOrder::ValuePlace(uint64_t pass, uint64_t place) const {
  if (options_.batch == 0) return place;
  if (batches_ != nullptr) {
    const BatchSequence::Batch batch = batches_->WithPosition(pass, place);
    return batch.begin + (place - batch.position);
  }
  const Batches batches = BatchesOf(pass);
  uint64_t batch = place / options_.batch;
  const uint64_t at = place % options_.batch;
  if (batch == batches.whole) return batches.cut * options_.batch + at;
  if (shuffle_.shuffle != Shuffle::kNone) batch = Permutation(batches.whole, batches.key).Permute(batch);
  return batch * options_.batch + (batch >= batches.cut ? batches.rest : 0) + at;
}

uint64_t SortedOrder::PassPlace(uint64_t pass, uint64_t place) const {
  if (options_.batch == 0) return place;
  if (batches_ != nullptr) {
    const BatchSequence::Batch batch = batches_->WithRow(pass, place);
    return batch.position + (place - batch.begin);
  }
  const Batches batches = BatchesOf(pass);
  const uint64_t rest = batches.cut * options_.batch;  // its first row
  if (place >= rest && place < rest + batches.rest) return batches.whole * options_.batch + (place - rest);
  const uint64_t without_rest = place < rest ? place : place - batches.rest;
  uint64_t batch = without_rest / options_.batch;
  if (shuffle_.shuffle != Shuffle::kNone) batch = Permutation(batches.whole, batches.key).Invert(batch);
  return batch * options_.batch + without_rest % options_.batch;
}

Blend::Row SortedOrder::At(uint64_t place) const {
  const uint64_t pass = place / begins_.back(), in_pass = place % begins_.back();
  if (!IsSorted(pass)) {
    const GroupMap::Place found = groups_->PlaceOf(WholePass(pass).RecordAt(in_pass));
    return {found.group, pass * RowsOf(found.group) + found.number};
  }
  const uint64_t row = ValuePlace(pass, in_pass);
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), row);
  const auto group = static_cast<uint32_t>(after - begins_.begin() - 1);
  return {group, pass * RowsOf(group) + (row - begins_[group])};
}

uint64_t SortedOrder::PlaceOf(const Blend::Row& row) const {
  const uint64_t pass = row.number / RowsOf(row.set), number = row.number % RowsOf(row.set);
  const uint64_t in_pass = IsSorted(pass) ? PassPlace(pass, begins_[row.set] + number)
                                          : WholePass(pass).PositionOf(groups_->RecordOf({row.set, number}));
  return pass * begins_.back() + in_pass;
}

}  // namespace penstock::plan
