// A job's annotations: which boxes and masks belong to the image, checked; and from a record to its followers and back
// to the row.
#ifndef PENSTOCK_PIPELINE_AUGMENT_FEATURES_ANNOTATIONS_H_
#define PENSTOCK_PIPELINE_AUGMENT_FEATURES_ANNOTATIONS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/features/features.h"
#include "pipeline/augment/op/followers.h"
#include "pipeline/batch/row.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// One of the four keys that boxes are read from: the field that says it ("xmin_key"), and the key.
struct BoxKey {
  std::string field, key;
};
// xmin, ymin, xmax, ymax, with job.proto's defaults.
std::array<BoxKey, 4> BoxKeysOf(const v1::Boxes& boxes);

// Immutable, thread-safe.
class AnnotationPlan {
 public:
  // Adds "annotations.FIELD: MESSAGE" to *errors for every mistake. Without annotations in the job the plan is not
  // active, and nothing else of it is to be called.
  static AnnotationPlan Create(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors);

  bool active() const { return active_; }
  // Columns, by their numbers.
  size_t image() const { return image_; }
  const std::vector<size_t>& masks() const { return masks_; }
  bool IsMask(size_t column) const;
  // The boxes' column, which comes after the features' columns; null without boxes.
  const ColumnSpec* boxes() const { return has_boxes_ ? &boxes_column_ : nullptr; }

  // In which order the job's ops run: first the masks' decode_image, then the image's ops, then the others; each as in
  // the job. Draws do not depend on it.
  struct Order {
    std::vector<int> decode_masks, image, others;
  };
  Order OrderOps(const v1::JobSpec& job) const;

  // Parses the record's boxes into `out`. InvalidArgument: unlike counts, numbers that make no box.
  absl::Status ParseBoxes(std::string_view record, ParsedExample* out) const;
  // Bytes that the boxes of such a record take in a row's making.
  size_t BoxBytes(const ParsedExample& parsed) const;

  // Begins a row: the boxes of ParseBoxes on an image as it is stored, turned upright where the job wants it. Masks
  // (their views in the order of masks()) must have the stored image's size.
  absl::Status Start(const ImageHeader& header, const ParsedExample& parsed, const std::vector<ImageView>& masks,
                     Arena* arena, Followers* followers) const;

  // Whether a box goes into the row: enough of it is left.
  bool Keeps(const Followers::Box& box) const;
  // Writes the boxes' column, and leaves of the companions' encodings, which are in the slot already, what belongs to
  // boxes that are kept. InvalidArgument: a companion has another count than the boxes.
  absl::Status Finish(const Followers& followers, RowSlot* slot) const;

 private:
  struct Companion {
    size_t column;
    ColumnSpec spec;
  };

  void CheckColumns(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors);
  void CheckBoxes(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors);

  bool active_ = false;
  size_t image_ = 0;
  std::string image_name_;
  bool upright_ = false;
  std::vector<size_t> masks_;
  std::vector<std::string> mask_names_;
  bool has_boxes_ = false;
  ColumnSpec boxes_column_;
  std::string keys_;  // all four, for messages
  bool pixels_ = false;
  double min_area_ = 0, min_visible_ = 0;
  std::optional<ExampleParser> parser_;
  std::vector<Companion> companions_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_ANNOTATIONS_H_
