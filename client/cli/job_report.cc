#include "client/cli/job_report.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/bin_lines.h"
#include "client/cli/output.h"
#include "pipeline/augment/job_warnings.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/plan/fitting_batch.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/plan/snapshot_groups.h"
#include "pipeline/plan/steps.h"
#include "pipeline/selection/step.h"

namespace penstock::cli {
namespace {

constexpr uint32_t kSetsOfLine = 8;  // data sets in a line about a change of weights
constexpr size_t kGroupsAtEnds = 5;  // groups in a list: those with the most and the fewest passes

std::string PassesText(double passes) {
  return passes < 1000 ? absl::StrFormat("%.3g", passes) : absl::StrFormat("%.0f", passes);
}

// Returns the lines of groups that are sorted by the values of `step`.
std::string SortedLines(const v1::Select& step, const plan::DataOrder& order) {
  std::vector<std::string> names;
  std::vector<uint64_t> records;
  for (uint32_t group = 0; group < order.parts(); ++group) {
    names.push_back(order.groups()->name(group));
    records.push_back(order.records_of_part(group));
  }
  return absl::StrCat("  ", selection::StepText(step), ": ", Count(order.parts(), "part"),
                      order.batches() != nullptr
                          ? absl::StrCat(", batches of at most ", order.batches()->cut().largest(), " rows")
                      : step.has_bucket() ? absl::StrCat(", batches of ", order.single_batch(), " rows")
                                          : "",
                      "\n", BinLines(names, records, "    "));
}

// Returns the lines of the groups that an epoch repeats most and least.
std::string GroupLines(const v1::Select& step, const plan::DataOrder& order) {
  std::vector<uint32_t> groups(order.parts());
  std::iota(groups.begin(), groups.end(), 0);
  std::stable_sort(groups.begin(), groups.end(),
                   [&](uint32_t a, uint32_t b) { return order.PassesPerEpoch(a) > order.PassesPerEpoch(b); });
  std::string out = absl::StrCat("  ", step.has_weights() ? "weights" : "balance", ": ", groups.size(),
                                 groups.size() == 1 ? " group" : " groups", "\n");
  const size_t shown = groups.size() <= 2 * kGroupsAtEnds ? groups.size() : kGroupsAtEnds;
  const auto add = [&](uint32_t group) {
    absl::StrAppendFormat(&out, "    '%s': %d records, %d of %d rows, %s passes in an epoch\n",
                          absl::Utf8SafeCEscape(order.groups()->name(group)), order.records_of_part(group),
                          order.share(group), order.rows_per(), PassesText(order.PassesPerEpoch(group)));
  };
  for (size_t i = 0; i < shown; ++i) add(groups[i]);
  if (shown == groups.size()) return out;
  absl::StrAppend(&out, "    and ", groups.size() - 2 * shown, " groups with fewer passes, down to\n");
  for (size_t i = groups.size() - shown; i < groups.size(); ++i) add(groups[i]);
  return out;
}

absl::StatusOr<plan::Steps> StepsOf(const v1::JobSpec& job, uint64_t rows, const Batches& batches) {
  return plan::Steps::Create(rows, plan::StepSizesOf(job.batch(), batches), plan::LastBatchOf(job.batch().last()), 1);
}

}  // namespace

batch::RowSchema SchemaOf(const google::protobuf::RepeatedPtrField<v1::Column>& columns) {
  batch::RowSchema schema;
  for (const v1::Column& column : columns) {
    schema.columns.push_back({.name = column.name(),
                              .dtype = static_cast<batch::DType>(column.dtype()),
                              .ragged = column.ragged(),
                              .shape = {column.shape().begin(), column.shape().end()},
                              .scalar = column.scalar()});
  }
  return schema;
}

std::string ColumnLines(const v1::JobSpec& job, const batch::RowSchema& rows) {
  const absl::StatusOr<batch::RowSchema> mixed = batch::BatchSchemaOf(job, rows);
  const batch::RowSchema& schema = mixed.ok() ? *mixed : rows;
  std::string out;
  int width = 16;
  for (const batch::ColumnSpec& column : schema.columns) width = std::max(width, static_cast<int>(column.name.size()));
  for (const batch::ColumnSpec& column : schema.columns) {
    const bool mixes = job.has_mix() && (column.name == batch::MixImageColumn(job.mix()) ||
                                         column.name == batch::MixLabelColumn(job.mix()));
    absl::StrAppendFormat(&out, "  %-*s %s%s%s%s%s\n", width, column.name,
                          v1::DataType_Name(static_cast<v1::DataType>(column.dtype)), column.shape.empty() ? "" : ", ",
                          absl::StrJoin(column.shape, " x "), column.ragged && !column.scalar ? ", ragged" : "",
                          mixes ? ", mixed" : "");
  }
  return out;
}

absl::StatusOr<std::shared_ptr<const plan::DataOrder>> OrderOf(const v1::Job& job) {
  std::vector<uint64_t> counts;
  for (const v1::Shard& shard : job.snapshot().shards()) counts.push_back(shard.records());
  const auto& sets = job.snapshot().set_shards();
  return plan::DataOrderOf(job.spec(), counts, {sets.data(), static_cast<size_t>(sets.size())},
                           plan::GroupsOf(job.snapshot()));
}

std::string ShareLines(const v1::JobSpec& job, const plan::DataOrder& order) {
  std::string out;
  const v1::Select* const step = plan::GroupingStepOf(plan::DatasetOf(job));
  if (step != nullptr && order.groups() != nullptr) {
    return order.sorted() != nullptr ? SortedLines(*step, order) : GroupLines(*step, order);
  }
  const char* const noun = order.blend() != nullptr && order.blend()->unit() > 1 ? "batches" : "rows";
  for (uint32_t set = 0; set < order.sets() && order.sets() > 1; ++set) {
    absl::StrAppendFormat(&out, "  dataset %s: %d of %d %s, %s passes in an epoch\n", order.set_name(set),
                          order.share(set), order.rows_per(), noun, PassesText(order.PassesPerEpoch(set)));
  }
  if (order.blend() == nullptr) return out;
  const std::vector<uint64_t> begins = order.blend()->begins();
  for (size_t part = 1; part < begins.size(); ++part) {
    const plan::Blend &now = order.blend()->part(part), &before = order.blend()->part(part - 1);
    bool changes = now.block_rows() != before.block_rows();
    for (uint32_t set = 0; set < order.sets(); ++set) changes = changes || now.count(set) != before.count(set);
    if (!changes) continue;  // steps of a ramp may have the same shares of a batch
    absl::StrAppend(&out, "  from row ", begins[part], ":");
    for (uint32_t set = 0; set < std::min(order.sets(), kSetsOfLine); ++set) {
      absl::StrAppend(&out, set == 0 ? " " : ", ", order.set_name(set), " ", now.count(set));
    }
    if (order.sets() > kSetsOfLine) absl::StrAppend(&out, " and others");
    absl::StrAppend(&out, " of ", now.block_rows(), " ", noun, "\n");
  }
  return out;
}

EpochFacts EpochFactsOf(const v1::JobSpec& job, uint64_t rows, const Batches& batches) {
  EpochFacts facts{.rows = rows};
  const auto steps = StepsOf(job, rows, batches);
  if (batches != nullptr) facts.largest = batches->cut().largest();
  if (!steps.ok()) {
    facts.dropped = rows;
    return facts;
  }
  facts.steps = steps->StepsOf(0);
  facts.dropped = steps->DroppedOf(0);
  const plan::StepSpan last = steps->StepAt(steps->Advance({0, 0}, facts.steps - 1));
  facts.padding = last.rows - last.valid;
  facts.last_rows = last.rows < last.size ? last.rows : 0;
  return facts;
}

std::string BatchSizesText(const v1::Batch& batch) {
  std::string out = Count(batch.size());
  for (int i = 0; i < batch.change_size(); ++i) {
    absl::StrAppend(&out, ", ", Count(batch.change(i).size()), " from row ", Count(batch.change(i).at_rows()),
                    i == 0 ? " of the run" : "");
  }
  return out;
}

std::string EpochLine(const v1::JobSpec& job, const EpochFacts& facts) {
  const bool changes = job.batch().change_size() > 0;
  const char* const comma = changes ? "; " : ", ";
  std::string out =
      absl::StrCat("an epoch has ", Count(facts.rows, "row"), changes ? ", the first one " : ": ",
                   Count(facts.steps, "step"), changes ? ": batches of " : " of ",
                   facts.largest > 0 ? absl::StrCat("at most ", Count(facts.largest)) : BatchSizesText(job.batch()));
  if (facts.dropped > 0) {
    const double percent = 100.0 * static_cast<double>(facts.dropped) / static_cast<double>(facts.rows);
    absl::StrAppend(&out, comma, Count(facts.dropped, "row"), absl::StrFormat(" (%.1f %%) ", percent),
                    facts.dropped == 1 ? "is" : "are", " dropped at its end");
  }
  if (facts.padding > 0) absl::StrAppend(&out, comma, "the last filled up with ", Count(facts.padding, "row"));
  if (facts.last_rows > 0) absl::StrAppend(&out, comma, "the last of ", Count(facts.last_rows));
  return out;
}

std::vector<std::string> DroppedRowsWarnings(const v1::JobSpec& job, uint64_t rows, const Batches& batches) {
  if (batches != nullptr && batches->cut().batches() > 0) return {};  // fewer rows than a batch's multiple are dropped
  const EpochFacts facts = EpochFactsOf(job, rows);
  if (facts.steps == 0) {
    return {absl::StrCat("batch: an epoch has ", Count(rows, "row"), ", fewer than a batch of ",
                         Count(plan::StepSizesOf(job.batch(), nullptr).Largest()),
                         ", and batch.last is DROP: `penstock submit` refuses that; batch { size: ",
                         plan::FittingBatch(rows), " } fits, or last: PAD")};
  }
  const auto steps = StepsOf(job, rows, nullptr);
  for (const v1::BatchChange& change : job.batch().change()) {
    // The epoch with the change, and the first one after it.
    for (const uint64_t epoch : {change.at_rows() / rows, change.at_rows() / rows + 1}) {
      const uint64_t dropped = steps->DroppedOf(epoch);
      if (!plan::IsMuchDropped(dropped, rows)) continue;
      return {absl::StrCat("batch: epoch ", epoch, " drops ", Count(dropped), " of ", Count(rows, "row"),
                           " at its end; give other sizes in batch.change, or last: PAD")};
    }
  }
  if (!plan::IsMuchDropped(facts.dropped, rows)) return {};
  return {absl::StrCat("batch: ", EpochLine(job, facts), ": batch { size: ", plan::FittingBatch(rows),
                       " } leaves out less, last: PAD or PARTIAL nothing")};
}

std::vector<std::string> WarningsOf(const v1::JobSpec& job, uint64_t rows, const Batches& batches) {
  std::vector<std::string> out = augment::JobWarnings(job);
  if (rows == 0) return out;
  for (std::string& warning : DroppedRowsWarnings(job, rows, batches)) out.push_back(std::move(warning));
  return out;
}

void PrintWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) PrintWarning(warning);
}

std::string LeftOutText(uint64_t records) {
  return absl::StrCat(
      Count(records, "bad record"), records == 1 ? " is" : " are",
      " left out of the selection; the workers' logs name the first of each file, and `penstock select` "
      "lists more");
}

}  // namespace penstock::cli
