#include "pipeline/augment/set_pipelines.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::augment {
namespace {

// Returns what decides the pipeline of a job of one data set.
std::string KeyOf(const v1::JobSpec& job) {
  std::string key = absl::StrCat(plan::DatasetOf(job).format());
  const auto add = [&key](const std::string& part) { absl::StrAppend(&key, " ", part.size(), ":", part); };
  for (const v1::Feature& feature : job.features()) add(feature.SerializeAsString());
  add("ops");
  for (const v1::Op& op : job.ops()) add(op.SerializeAsString());
  if (const v1::Pack* const pack = plan::PackOf(plan::DatasetOf(job))) add(pack->SerializeAsString());
  if (const auto* const window = plan::RecordWindowOf(plan::DatasetOf(job))) add(window->SerializeAsString());
  return key;
}

std::string TypeText(const batch::ColumnSpec& column) {
  return absl::StrCat(v1::DataType_Name(static_cast<v1::DataType>(column.dtype)), column.shape.empty() ? "" : ", ",
                      absl::StrJoin(column.shape, " x "), column.ragged && !column.scalar ? ", ragged" : "");
}

// Returns how the columns differ, or "".
std::string DifferenceOf(const batch::RowSchema& own, const batch::RowSchema& first) {
  for (const batch::ColumnSpec& column : first.columns) {
    const int found = own.Find(column.name);
    if (found < 0) return absl::StrCat("it has no column '", column.name, "'");
    const batch::ColumnSpec& same = own.columns[static_cast<size_t>(found)];
    if (same.dtype == column.dtype && same.ragged == column.ragged && same.scalar == column.scalar &&
        same.shape == column.shape) {
      continue;
    }
    return absl::StrCat("its column '", column.name, "' is ", TypeText(same), ", and not ", TypeText(column));
  }
  for (size_t i = 0; i < own.columns.size(); ++i) {
    if (first.Find(own.columns[i].name) < 0) return absl::StrCat("it has one more column, '", own.columns[i].name, "'");
    if (own.columns[i].name != first.columns[i].name) {
      return absl::StrCat("its column '", own.columns[i].name, "' stands where '", first.columns[i].name,
                          "' is; list the features in one order");
    }
  }
  return "";
}

std::string NameOf(const v1::JobSpec& job, size_t set) {
  const std::string& name = plan::DatasetOf(job).name();
  return name.empty() ? absl::StrCat("dataset[", set, "]") : absl::StrCat("dataset[", set, "] (", name, ")");
}

// Returns a mistake in the job of data set `set` alone, with the place in the whole job.
std::string InWholeJob(const v1::Dataset& dataset, int set, std::string mistake) {
  const bool own = (absl::StartsWith(mistake, "features") && dataset.features_size() > 0) ||
                   (absl::StartsWith(mistake, "ops") && dataset.ops_size() > 0);
  return own ? absl::StrCat("dataset[", set, "].", mistake) : mistake;
}

}  // namespace

absl::StatusOr<SetPipelines> SetPipelines::Create(const std::vector<v1::JobSpec>& jobs) {
  PS_CHECK(!jobs.empty());
  SetPipelines made;
  std::map<std::string, size_t> known;
  std::vector<uint64_t> fingerprints;
  for (size_t set = 0; set < jobs.size(); ++set) {
    const auto [same, added] = known.emplace(KeyOf(jobs[set]), made.pipelines_.size());
    if (added) {
      PS_ASSIGN_OR_RETURN(std::unique_ptr<const Pipeline> pipeline, Pipeline::Create(jobs[set]));
      made.Add(std::move(pipeline));
      const std::string difference = DifferenceOf(made.pipelines_.back()->schema(), made.schema());
      if (!difference.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(NameOf(jobs[set], set), ": ", difference,
                                                       "; all data sets make the columns of ", NameOf(jobs[0], 0)));
      }
    }
    made.of_set_.push_back(same->second);
    fingerprints.push_back(made.pipelines_[same->second]->fingerprint());
  }
  // Formats that containers decide are not in fingerprints, so pipelines may differ and have one fingerprint.
  const bool one = std::all_of(fingerprints.begin(), fingerprints.end(),
                               [&](uint64_t fingerprint) { return fingerprint == fingerprints[0]; });
  if (!one) {
    Fingerprint all;
    for (const uint64_t fingerprint : fingerprints) all.Add(fingerprint);
    made.fingerprint_ = all.value();
  }
  return made;
}

SetPipelines::SetPipelines(std::unique_ptr<const Pipeline> pipeline) { Add(std::move(pipeline)); }

void SetPipelines::Add(std::unique_ptr<const Pipeline> pipeline) {
  std::vector<size_t>& stage_of = stage_of_.emplace_back();
  for (const std::string& stage : pipeline->stages()) {
    const auto found = std::find(stages_.begin(), stages_.end(), stage);
    stage_of.push_back(static_cast<size_t>(found - stages_.begin()));
    if (found == stages_.end()) stages_.push_back(stage);
  }
  if (pipelines_.empty()) fingerprint_ = pipeline->fingerprint();
  pipelines_.push_back(std::move(pipeline));
}

bool SetPipelines::AreDeterministic() const {
  return std::all_of(pipelines_.begin(), pipelines_.end(), [](const auto& each) { return each->IsDeterministic(); });
}

bool SetPipelines::HaveDecodedPrefix() const {
  return std::any_of(pipelines_.begin(), pipelines_.end(), [](const auto& each) { return each->HasDecodedPrefix(); });
}

std::vector<std::string> OfEachSet(const v1::JobSpec& job,
                                   absl::FunctionRef<std::vector<std::string>(const v1::JobSpec&)> check) {
  if (std::none_of(job.dataset().begin(), job.dataset().end(), plan::HasOwnColumns)) return check(job);
  std::vector<std::string> out;
  std::set<std::string> known;  // a mistake of the job's features or ops is one of all data sets that have them
  for (int set = 0; set < job.dataset_size(); ++set) {
    for (std::string& mistake : check(plan::JobOfSet(job, set))) {
      std::string placed = InWholeJob(job.dataset(set), set, std::move(mistake));
      if (known.insert(placed).second) out.push_back(std::move(placed));
    }
  }
  return out;
}

std::vector<std::string> CheckPipeline(const v1::JobSpec& job) {
  std::vector<std::string> mistakes = OfEachSet(job, CheckOnePipeline);
  if (!mistakes.empty() || job.dataset_size() < 2) return mistakes;
  const absl::Status different = SetPipelines::Create(plan::JobsOfSets(job)).status();
  if (!different.ok()) mistakes.emplace_back(different.message());
  return mistakes;
}

}  // namespace penstock::augment
