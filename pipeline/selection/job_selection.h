// The selection of a job.
#ifndef PENSTOCK_PIPELINE_SELECTION_JOB_SELECTION_H_
#define PENSTOCK_PIPELINE_SELECTION_JOB_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
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

// Returns the name of the steps of data set `set` in messages.
std::string PlaceOf(int set);

// Parses those of a data set's steps that do not count records (plan/job_slices.h) for features of these types.
// Messages name the steps `place`[0] and so on. Returns the errors of Step::Parse(), and InvalidArgument for a step
// that follows one that counts.
absl::StatusOr<std::vector<Step>> ParseSteps(const google::protobuf::RepeatedPtrField<v1::Select>& steps,
                                             const std::string& place, const FeatureTypes& types);

// Returns the selection of the job's data set `set` with the types of its features, which the first records of the
// set's files at `paths` show. The result selects the same records on every machine. It has no steps if the data set
// has none. set < job.dataset_size().
//   InvalidArgument  a step is wrong; the message names it and may have several lines
//   others           FeatureTypes::Find()
absl::StatusOr<v1::Selection> MakeSelection(storage::Storage* storage, const v1::JobSpec& job, int set,
                                            const std::vector<std::string>& paths);

// Creates the selection that MakeSelection() has described. Returns InvalidArgument for a wrong description.
absl::StatusOr<std::shared_ptr<const sources::RecordSelection>> CreateSelection(const v1::Selection& selection);

// Returns `options` with the selection, or unchanged if it has no steps but those that count records. Returns the
// errors of CreateSelection().
absl::StatusOr<sources::IndexOptions> WithSelection(sources::IndexOptions options, const v1::Selection& selection);

// Returns InvalidArgument: none of the `records` records in the `files` files of data set `set` is selected. `reason`
// is that of plan::NoWindowReason().
absl::Status NothingSelected(int set, uint64_t records, size_t files, const std::string& reason);

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_JOB_SELECTION_H_
