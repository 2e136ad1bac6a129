// The pipelines of a job's data sets.
#ifndef PENSTOCK_PIPELINE_AUGMENT_SET_PIPELINES_H_
#define PENSTOCK_PIPELINE_AUGMENT_SET_PIPELINES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/pipeline.h"

namespace penstock::augment {

// Data sets with the same format, features and ops share a pipeline. All pipelines make the same columns. Immutable,
// thread-safe.
class SetPipelines {
 public:
  // `jobs` has the job of each data set alone (plan::JobsOfSets), with the format of its records; at least one. Returns
  // the errors of Pipeline::Create(), and InvalidArgument if two data sets make different columns.
  static absl::StatusOr<SetPipelines> Create(const std::vector<v1::JobSpec>& jobs);
  // Creates the one pipeline of all data sets.
  explicit SetPipelines(std::unique_ptr<const Pipeline> pipeline);

  // Returns whether there is one pipeline for all data sets.
  bool are_one() const { return pipelines_.size() == 1; }
  // Returns the pipeline of a data set. O(1).
  const Pipeline& Of(uint32_t set) const { return are_one() ? *pipelines_[0] : *pipelines_[of_set_[set]]; }

  const batch::RowSchema& schema() const { return pipelines_[0]->schema(); }
  // Returns the fingerprint of the pipeline, if there is one. Otherwise returns a hash of those of all data sets.
  uint64_t fingerprint() const { return fingerprint_; }
  // Returns whether each pipeline is deterministic.
  bool AreDeterministic() const;
  // Returns whether a pipeline has a decoded prefix.
  bool HaveDecodedPrefix() const;

  // Returns the names of the stages of all pipelines, each once.
  const std::vector<std::string>& stages() const { return stages_; }
  // Returns the number in stages() of stage `stage` of the data set's pipeline.
  size_t StageOf(uint32_t set, size_t stage) const { return stage_of_[are_one() ? 0 : of_set_[set]][stage]; }

 private:
  SetPipelines() = default;
  void Add(std::unique_ptr<const Pipeline> pipeline);

  std::vector<std::unique_ptr<const Pipeline>> pipelines_;
  std::vector<size_t> of_set_;  // by data set: its pipeline
  std::vector<std::string> stages_;
  std::vector<std::vector<size_t>> stage_of_;  // by pipeline, by its stage
  uint64_t fingerprint_ = 0;
};

// Returns what `check` returns for the job, or for the job of each data set alone if one has features or ops of its
// own: entries "PATH: MESSAGE", each once. Their paths are those of the whole job.
std::vector<std::string> OfEachSet(const v1::JobSpec& job,
                                   absl::FunctionRef<std::vector<std::string>(const v1::JobSpec&)> check);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_SET_PIPELINES_H_
