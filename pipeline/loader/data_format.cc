#include "pipeline/loader/data_format.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "pipeline/augment/features/annotations.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/records/job_format.h"
#include "pipeline/selection/sample_features.h"

namespace penstock::loader {
namespace {

// Returns the remedy for a format that the container does not have.
absl::string_view AdviceOn(sources::ContainerKind container) {
  switch (container) {
    case sources::ContainerKind::kTar:
      return "tar archives: leave it out";
    case sources::ContainerKind::kJsonl:
      return "JSONL files: leave it out, or name RAW";
    case sources::ContainerKind::kText:
      return "text files: leave it out, or name RAW";
    case sources::ContainerKind::kCsv:
      return "CSV files: leave it out";
    case sources::ContainerKind::kTsv:
      return "TSV files: leave it out";
    case sources::ContainerKind::kNpy:
      return ".npy files: leave it out";
    case sources::ContainerKind::kManifest:
      return "manifests: leave it out";
    case sources::ContainerKind::kTfRecord:
      break;
  }
  return "TFRecord files: leave it out, or name SEQUENCE_EXAMPLE or RAW";
}

bool HasFormat(sources::ContainerKind container, v1::RecordFormat format) {
  if (format == records::JobFormatOf(records::FormatOf(container))) return true;
  // The bytes of a sample or row are no feature: they contain names.
  const bool has_raw = container != sources::ContainerKind::kTar && !sources::HasHead(container);
  if (format == v1::RAW) return has_raw;
  return format == v1::SEQUENCE_EXAMPLE && container == sources::ContainerKind::kTfRecord;
}

}  // namespace

absl::StatusOr<v1::JobSpec> WithFormatOf(sources::ContainerKind container, const v1::JobSpec& job) {
  v1::JobSpec spec = job;
  v1::Dataset* const dataset = plan::MutableDatasetOf(&spec);
  if (dataset == nullptr) return spec;
  if (dataset->format() == v1::EXAMPLE) dataset->set_format(records::JobFormatOf(records::FormatOf(container)));
  if (!HasFormat(container, dataset->format())) {
    return absl::InvalidArgumentError(absl::StrCat("dataset.format: ", v1::RecordFormat_Name(dataset->format()),
                                                   ", but the shards are ", AdviceOn(container)));
  }
  return spec;
}

absl::StatusOr<std::vector<v1::JobSpec>> JobsWithFormats(const std::vector<sources::ContainerKind>& containers,
                                                         const v1::JobSpec& job) {
  std::vector<v1::JobSpec> jobs = plan::JobsOfSets(job);
  for (size_t set = 0; set < jobs.size(); ++set) {
    absl::StatusOr<v1::JobSpec> formatted = WithFormatOf(containers.at(set), jobs[set]);
    if (!formatted.ok() && jobs.size() > 1)
      return AtPlace(job.dataset(static_cast<int>(set)).name(), formatted.status());
    PS_ASSIGN_OR_RETURN(jobs[set], std::move(formatted));
  }
  return jobs;
}

SetFeatures SetFeaturesOf(const std::vector<sources::ContainerKind>& containers, const v1::JobSpec& job) {
  SetFeatures features;
  const std::vector<v1::JobSpec> jobs = plan::JobsOfSets(job);
  for (size_t set = 0; set < jobs.size(); ++set) {
    features.push_back(RequestedFeaturesOf(containers.at(set), jobs[set]));
  }
  const bool none = std::all_of(features.begin(), features.end(), [](const auto& each) { return each == nullptr; });
  return none ? SetFeatures() : features;
}

std::shared_ptr<const sources::RequestedFeatures> RequestedFeaturesOf(sources::ContainerKind container,
                                                                      const v1::JobSpec& job) {
  if (job.features_size() == 0) return nullptr;
  std::vector<std::string> keys;
  for (const v1::Feature& feature : job.features()) keys.push_back(feature.key());
  if (job.annotations().has_boxes()) {
    for (augment::BoxKey& box : augment::BoxKeysOf(job.annotations().boxes())) keys.push_back(std::move(box.key));
  }
  return selection::FeaturesOf(container, keys);
}

}  // namespace penstock::loader
