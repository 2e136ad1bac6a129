// The features and ops of a job, checked and arranged in the order in which a row is made. Internal to Pipeline and
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

namespace penstock::augment {

struct RowScratch::Impl {
  ImageTools tools;
  records::ParsedExample parsed;
  records::ParsedExample parsed_boxes;
  std::vector<Value> values;
  std::vector<image::ImageView> masks;
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
    int number = 0;          // index in the job's ops
    uint64_t path_hash = 0;  // hash of the op's declared name, or of its number
    size_t column = 0;
    bool last = false;       // whether it is the last step on its column
    bool in_prefix = false;  // part of the prefix that the decoded-image cache stores
    bool wide_mask = false;  // decodes a mask of 16-bit classes
  };

  // Adds one line to *errors per mistake. The plan is usable only if it added none.
  static RowPlan Create(const v1::JobSpec& job, std::vector<std::string>* errors);

  const batch::RowSchema& schema() const { return schema_; }
  const std::vector<Step>& steps() const { return steps_; }
  // Returns whether any step or column draws.
  bool draws() const;
  const AnnotationPlan& annotations() const { return annotations_; }
  // Returns the annotations' image column. Without annotations, returns the column of the job's first decode_image, or
  // -1.
  int image_column() const { return image_column_; }
  // Returns image_column(). If that is -1, returns the first column of raw pixels, or -1 if the rows have no picture.
  int picture_column() const;

  // The image column's pixels after the prefix, from the cache of decoded images. Null: the record alone makes the row.
  using Decoded = const image::ImageView*;

  // Parses and reads all columns. Writes columns without ops to the slot.
  absl::Status Read(std::string_view record, Decoded decoded, const SampleKey& key, batch::RowSlot* slot,
                    RowScratch::Impl* scratch) const;
  // Runs the steps and stores their columns.
  absl::Status Compute(const SampleKey& key, Decoded decoded, batch::RowSlot* slot, RowScratch::Impl* scratch) const;
  // Runs the first `steps` steps of the picture column. The result points into the record, the scratch or, for a
  // feature's default, this object. With `follow`, also moves its boxes and masks, which are then in
  // scratch->followers.
  absl::StatusOr<image::ImageView> ComputeImage(std::string_view record, const SampleKey& key, size_t steps,
                                                bool strict, bool follow, RowScratch::Impl* scratch) const;

  size_t ScratchBytes(std::string_view record) const;

 private:
  void AddSteps(const v1::JobSpec& job, std::vector<std::string>* errors);
  void AddStep(const v1::JobSpec& job, int number, std::vector<std::string>* errors);
  // Returns the element types of the masks that follow a column's image, or null if a mistake in the annotations hides
  // them.
  const std::vector<batch::DType>* FollowingMasks(const v1::JobSpec& job, size_t column) const;
  void Finish(std::vector<std::string>* errors);
  absl::Status Apply(const Step& step, const SampleKey& key, bool strict, uint8_t* target,
                     RowScratch::Impl* scratch) const;
  // Runs the masks' decode_image, then starts the followers with the size and orientation of the encoded image.
  absl::Status StartFollowers(const SampleKey& key, bool strict, RowScratch::Impl* scratch) const;
  // Adds to *bytes the memory that a column's steps need for the parsed record. Sets *value to their result. For a
  // mask, value->image must hold the result of the image's steps, whose size the mask takes.
  void MeasureColumn(size_t column, const records::ParsedExample& parsed, Followers* followers, Value* value,
                     size_t* bytes) const;

  FeatureSet features_;
  AnnotationPlan annotations_;
  std::vector<ValueType> types_;  // type of each column after the steps so far
  std::vector<char> broken_;      // columns with mistakes already reported
  std::vector<char> has_steps_;
  // With annotations: the masks' decode_image steps, then those of the image in [image_begin_, image_end_), then the
  // others.
  std::vector<Step> steps_;
  size_t image_begin_ = 0, image_end_ = 0;
  batch::RowSchema schema_;
  int image_column_ = -1;
  image::ImageLimits limits_;
};

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_ROW_PLAN_H_
