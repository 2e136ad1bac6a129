#include "pipeline/loader/data_format.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock {

absl::StatusOr<v1::JobSpec> WithFormatOf(ContainerKind container, const v1::JobSpec& job) {
  v1::JobSpec spec = job;
  v1::Dataset* const dataset = MutableDatasetOf(&spec);
  if (dataset == nullptr) return spec;
  const bool tar = container == ContainerKind::kTar;
  if (tar && (dataset->format() == v1::EXAMPLE || dataset->format() == v1::SAMPLE)) {
    dataset->set_format(v1::SAMPLE);
  } else if (tar != (dataset->format() == v1::SAMPLE)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset.format: ", v1::RecordFormat_Name(dataset->format()), ", but the shards are ",
        tar ? "tar archives: leave it out" : "TFRecord files: leave it out, or name SEQUENCE_EXAMPLE or RAW"));
  }
  return spec;
}

}  // namespace penstock
