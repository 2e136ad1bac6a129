#include "pipeline/plan/job_order.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::plan {

PlanOptions PlanOptionsOf(const v1::Order& order) {
  PlanOptions options;
  options.seed = order.seed();
  options.shuffle = order.shuffle() == v1::Order::NONE   ? Shuffle::kNone
                    : order.shuffle() == v1::Order::FULL ? Shuffle::kFull
                                                         : Shuffle::kChunked;
  if (order.repeats() != 0) options.repeats = order.repeats();
  if (order.chunk_records() != 0) options.chunk_records = order.chunk_records();
  if (order.window_chunks() != 0) options.window_chunks = order.window_chunks();
  return options;
}

StepSizes StepSizesOf(const v1::Batch& batch, std::shared_ptr<const BatchSequence> batches, uint64_t given) {
  StepSizes sizes = given != 0 ? given : batch.size();
  sizes.batches = std::move(batches);
  if (given != 0) return sizes;
  for (const v1::BatchChange& change : batch.change()) sizes.changes.push_back({change.at_rows(), change.size()});
  return sizes;
}

LastBatch LastBatchOf(v1::LastBatch last) {
  return last == v1::PAD ? LastBatch::kPad : last == v1::PARTIAL ? LastBatch::kPartial : LastBatch::kDrop;
}

bool HasNamedSets(const v1::JobSpec& job) {
  return std::any_of(job.dataset().begin(), job.dataset().end(),
                     [](const v1::Dataset& dataset) { return !dataset.name().empty(); });
}

std::vector<std::string> SetNamesOf(const v1::JobSpec& job) {
  std::vector<std::string> names;
  if (!HasNamedSets(job)) return names;
  for (const v1::Dataset& dataset : job.dataset()) names.push_back(dataset.name());
  return names;
}

namespace {

std::vector<WeightChange> ChangesOf(const v1::JobSpec& job) {
  std::vector<double> weights;
  for (const v1::Dataset& dataset : job.dataset()) weights.push_back(dataset.weight());
  const std::vector<std::string> names = SetNamesOf(job);
  std::vector<WeightChange> changes;
  for (const v1::WeightChange& change : job.blend().change()) {
    for (const v1::SetWeight& weight : change.weights()) {
      const auto found = std::find(names.begin(), names.end(), weight.key());
      if (found != names.end()) weights[static_cast<size_t>(found - names.begin())] = weight.value();
    }
    changes.push_back({change.at_rows(), change.over_rows(), weights});
  }
  return changes;
}

std::optional<BlendStart> StartOf(const v1::JobSpec& job) {
  if (!job.blend().has_start()) return std::nullopt;
  const v1::BlendStart& from = job.blend().start();
  BlendStart start{.order = from.order(), .at = {from.epoch(), from.position()}, .epoch_rows = from.epoch_rows()};
  std::unordered_map<std::string_view, uint64_t> rows;
  for (const v1::SetStart& set : from.sets()) rows[set.key()] = set.rows();
  for (const v1::Dataset& dataset : job.dataset()) {
    const auto found = rows.find(dataset.name());
    start.rows.push_back(found == rows.end() ? 0 : found->second);
  }
  return start;
}

// Returns how the groups of `step` take turns.
absl::StatusOr<Grouping> GroupingOf(const v1::JobSpec& job, const v1::Select& step, RecordGroups groups) {
  Grouping grouping;
  if (step.has_balance()) grouping.power = step.balance().power();
  if (step.has_weights()) {
    grouping.power = 1;
    for (const std::string& name : groups.names) {
      double& weight = grouping.weights.emplace_back();
      const auto end = name.data() + name.size();
      if (std::from_chars(name.data(), end, weight).ptr != end || !(weight >= 0)) {
        return absl::InvalidArgumentError(absl::StrCat("the weight '", name, "' is not a number that is at least 0"));
      }
    }
  }
  if (step.has_sort()) grouping.sorted = {.passes = step.sort().epochs() * PlanOptionsOf(job.order()).repeats};
  if (step.has_bucket()) grouping.sorted = {.batch = job.batch().size(), .rule = BatchRuleOf(step.bucket())};
  grouping.groups = std::move(groups);
  return grouping;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const DataOrder>> DataOrderOf(const v1::JobSpec& job,
                                                             const std::vector<uint64_t>& counts,
                                                             std::span<const uint32_t> set_shards,
                                                             RecordGroups groups) {
  const PlanOptions options = PlanOptionsOf(job.order());
  const size_t named = HasNamedSets(job) ? static_cast<size_t>(job.dataset_size()) : 0;
  if (set_shards.size() != named) {
    return absl::InvalidArgumentError(absl::StrCat("the snapshot of job ", job.name(), " has ", set_shards.size(),
                                                   " data sets with names, and the job has ", named,
                                                   "; a coordinator of 0.3.0 makes such a snapshot: upgrade it"));
  }
  const v1::Select* const grouping = GroupingStepOf(DatasetOf(job));
  const bool has_records = std::any_of(counts.begin(), counts.end(), [](uint64_t count) { return count > 0; });
  if ((grouping != nullptr && has_records) != !groups.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the snapshot of job ", job.name(), groups.empty() ? " has no" : " has",
                     " groups of records; its coordinator is of another release: upgrade it"));
  }
  if (grouping != nullptr && has_records) {
    PS_ASSIGN_OR_RETURN(const Grouping turns, GroupingOf(job, *grouping, std::move(groups)));
    return DataOrder::CreateGrouped(counts, options, turns);
  }
  if (named == 0) return DataOrder::Create(counts, options, std::nullopt);
  BlendOptions blend;
  blend.epoch_rows = job.blend().epoch_rows();
  blend.end = job.blend().epoch() == v1::Blend::SHORTEST ? EpochEnd::kShortest : EpochEnd::kLongest;
  if (job.blend().batches() != v1::Blend::MIXED) blend.batch = job.batch().size();
  blend.single = job.blend().batches() == v1::Blend::SINGLE;
  for (int set = 0; set < job.dataset_size(); ++set) {
    const v1::Dataset& dataset = job.dataset(set);
    // A job of one data set may have a name without a weight.
    blend.sets.push_back({.name = dataset.name(),
                          .shards = set_shards[static_cast<size_t>(set)],
                          .weight = job.has_blend() ? dataset.weight() : 1.0,
                          .repeats = dataset.repeats()});
  }
  blend.changes = ChangesOf(job);
  blend.start = StartOf(job);
  return DataOrder::Create(counts, options, blend);
}

}  // namespace penstock::plan
