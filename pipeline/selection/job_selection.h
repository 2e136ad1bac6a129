// The selection of a job.
#ifndef PENSTOCK_PIPELINE_SELECTION_JOB_SELECTION_H_
#define PENSTOCK_PIPELINE_SELECTION_JOB_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "penstock/v1/selection.pb.h"
#include "pipeline/selection/feature_types.h"
#include "pipeline/selection/step.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/record_selection.h"
#include "pipeline/storage/storage.h"

namespace penstock::selection {

// Parses those of a job's steps that do not count records (plan/job_slices.h) for features of these types. Returns the
// errors of Step::Parse(), and InvalidArgument for a step that follows one that counts.
absl::StatusOr<std::vector<Step>> ParseSteps(const google::protobuf::RepeatedPtrField<v1::Select>& steps,
                                             const FeatureTypes& types);

// Returns the job's selection with the types of its features, which the first records of the files at `paths` show. The
// result selects the same records on every machine. Returns nullopt if the job selects all records.
//   InvalidArgument  a step is wrong; the message names dataset.select and may have several lines
//   others           FeatureTypes::Find()
absl::StatusOr<std::optional<v1::Selection>> MakeSelection(storage::Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<std::string>& paths);

// Creates the selection that MakeSelection() has described. Returns InvalidArgument for a wrong description.
absl::StatusOr<std::shared_ptr<const sources::RecordSelection>> CreateSelection(const v1::Selection& selection);

// Returns `options` with the selection, or unchanged if it has no steps but those that count records. Returns the
// errors of CreateSelection().
absl::StatusOr<sources::IndexOptions> WithSelection(sources::IndexOptions options, const v1::Selection& selection);

// Returns InvalidArgument: none of the `records` records in `files` files is selected.
absl::Status NothingSelected(uint64_t records, size_t files);

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_JOB_SELECTION_H_
