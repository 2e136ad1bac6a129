#include "pipeline/loader/data_format.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pipeline/augment/features/annotations.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/selection/sample_features.h"

namespace penstock::loader {

absl::StatusOr<v1::JobSpec> WithFormatOf(sources::ContainerKind container, const v1::JobSpec& job) {
  v1::JobSpec spec = job;
  v1::Dataset* const dataset = plan::MutableDatasetOf(&spec);
  if (dataset == nullptr) return spec;
  const bool tar = container == sources::ContainerKind::kTar;
  if (tar && (dataset->format() == v1::EXAMPLE || dataset->format() == v1::SAMPLE)) {
    dataset->set_format(v1::SAMPLE);
  } else if (tar != (dataset->format() == v1::SAMPLE)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset.format: ", v1::RecordFormat_Name(dataset->format()), ", but the shards are ",
        tar ? "tar archives: leave it out" : "TFRecord files: leave it out, or name SEQUENCE_EXAMPLE or RAW"));
  }
  return spec;
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
