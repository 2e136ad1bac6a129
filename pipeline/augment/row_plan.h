// A job's features and ops, checked and put into the order in which a row is made. The inside of Pipeline, and of
// contact sheets.
#ifndef PENSTOCK_PIPELINE_AUGMENT_ROW_PLAN_H_
#define PENSTOCK_PIPELINE_AUGMENT_ROW_PLAN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/augment/features/annotations.h"
#include "pipeline/augment/features/features.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/pipeline.h"

namespace penstock {

struct RowScratch::Impl {
  ImageTools tools;
  ParsedExample parsed;
  ParsedExample parsed_boxes;
  std::vector<Value> values;
  std::vector<ImageView> masks;
  Followers followers;
  bool damaged = false;
};

// Immutable, thread-safe.
class RowPlan {
 public:
  struct Step {
    std::unique_ptr<Op> op;
    std::string label;       // "ops[1].resize (column 'image')"
    std::string name;        // "resize"
    int number = 0;          // in the job's ops
    uint64_t path_hash = 0;  // of the op's declared name, or its number
    size_t column = 0;
    bool last = false;       // on its column
    bool in_prefix = false;  // part of what the decoded-image cache keeps
  };

  // Adds one line to *errors for every mistake; the plan is usable only when none was added.
  static RowPlan Create(const v1::JobSpec& job, std::vector<std::string>* errors);

  const RowSchema& schema() const { return schema_; }
  const std::vector<Step>& steps() const { return steps_; }
  // Whether any step draws.
  bool draws() const;
  const AnnotationPlan& annotations() const { return annotations_; }
  // The annotations' image, or the first column with a decode_image, or -1.
  int image_column() const { return image_column_; }
  // That one, or the first column of raw pixels; -1 when the rows have no picture.
  int picture_column() const;

  // What starts the image column in place of its feature and the prefix: null, or pixels.
  using Decoded = const ImageView*;

  // Parses and reads all columns; those without ops go to the slot.
  absl::Status Read(std::string_view record, Decoded decoded, RowSlot* slot, RowScratch::Impl* scratch) const;
  // Runs the steps and stores their columns.
  absl::Status Compute(const SampleKey& key, Decoded decoded, RowSlot* slot, RowScratch::Impl* scratch) const;
  // Runs the first `steps` of the picture column's steps. The result points into record, scratch or slot.
  // `follow`: with its boxes and masks, which are in scratch->followers then.
  absl::StatusOr<ImageView> ComputeImage(std::string_view record, const SampleKey& key, size_t steps, bool strict,
                                         bool follow, RowScratch::Impl* scratch) const;

  size_t ScratchBytes(std::string_view record) const;

 private:
  void AddSteps(const v1::JobSpec& job, std::vector<std::string>* errors);
  void AddStep(const v1::JobSpec& job, int number, std::vector<std::string>* errors);
  void Finish(std::vector<std::string>* errors);
  absl::Status Apply(const Step& step, const SampleKey& key, bool strict, uint8_t* target,
                     RowScratch::Impl* scratch) const;
  // The masks' decode_image, and then the followers on the stored image.
  absl::Status StartFollowers(const SampleKey& key, bool strict, RowScratch::Impl* scratch) const;
  // Counts into *bytes what the steps of a column take, from its value in the record on, which *value is then.
  void MeasureColumn(size_t column, const ParsedExample& parsed, Followers* followers, Value* value,
                     size_t* bytes) const;

  FeatureSet features_;
  AnnotationPlan annotations_;
  std::vector<ValueType> types_;  // of each column, after the steps so far
  std::vector<char> broken_;      // columns with mistakes already reported
  std::vector<char> has_steps_;
  // With annotations: first the masks' decode_image, then [image_begin_, image_end_) are the image's, then the others.
  std::vector<Step> steps_;
  size_t image_begin_ = 0, image_end_ = 0;
  RowSchema schema_;
  int image_column_ = -1;
  ImageLimits limits_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_ROW_PLAN_H_
