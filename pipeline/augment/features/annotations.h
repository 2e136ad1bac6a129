// A job's annotations: checks which boxes and masks belong to the image. In each row, it starts the record's followers
// and writes the result to the row.
#ifndef PENSTOCK_PIPELINE_AUGMENT_FEATURES_ANNOTATIONS_H_
#define PENSTOCK_PIPELINE_AUGMENT_FEATURES_ANNOTATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
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

namespace penstock::augment {

// One of the four keys of the boxes: the field that names it ("xmin_key"), and the key.
struct BoxKey {
  std::string field, key;
};
// Returns the keys of xmin, ymin, xmax and ymax, with the defaults of job.proto.
std::array<BoxKey, 4> BoxKeysOf(const v1::Boxes& boxes);

// Immutable, thread-safe.
class AnnotationPlan {
 public:
  // Adds "annotations.FIELD: MESSAGE" to *errors per mistake. If the job has no annotations, the plan is inactive and
  // only active() may be called.
  static AnnotationPlan Create(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors);

  bool active() const { return active_; }
  // Column numbers.
  size_t image() const { return image_; }
  const std::vector<size_t>& masks() const { return masks_; }
  // Returns the element types after the masks' decode_image: uint8 or uint16.
  const std::vector<batch::DType>& mask_types() const { return mask_types_; }
  bool IsMask(size_t column) const;
  // Returns the boxes' column, which follows the features' columns, or null if there are no boxes.
  const batch::ColumnSpec* boxes() const { return has_boxes_ ? &boxes_column_ : nullptr; }

  // The order in which the job's ops run: the masks' decode_image, then the image's ops, then the others. Each group
  // keeps the job's order. Draws do not depend on it.
  struct Order {
    std::vector<int> decode_masks, image, others;
  };
  Order OrderOps(const v1::JobSpec& job) const;

  // Parses the record's boxes into `out`. Returns InvalidArgument if the counts differ or the numbers do not form a
  // box.
  absl::Status ParseBoxes(std::string_view record, records::ParsedExample* out) const;
  // Returns the bytes that such a record's boxes need while a row is made.
  size_t BoxBytes(const records::ParsedExample& parsed) const;

  // Begins a row with the boxes of ParseBoxes on the image as stored, turned upright if the job requests it. Masks, in
  // the order of masks(), must have the stored image's size.
  absl::Status Start(const image::ImageHeader& header, const records::ParsedExample& parsed,
                     const std::vector<image::ImageView>& masks, Arena* arena, Followers* followers) const;

  // Returns whether enough of a box is left to include it in the row.
  bool Keeps(const Followers::Box& box) const;
  // Writes the boxes' column. Removes from the companions' encodings, already in the slot, the elements of removed
  // boxes. Returns InvalidArgument if a companion has another count than the boxes.
  absl::Status Finish(const Followers& followers, batch::RowSlot* slot) const;

 private:
  struct Companion {
    size_t column;
    batch::ColumnSpec spec;
  };

  void CheckColumns(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors);
  void CheckMaskFill(const v1::Annotations& spec, std::vector<std::string>* errors);
  void CheckBoxes(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors);

  bool active_ = false;
  size_t image_ = 0;
  std::string image_name_;
  bool upright_ = false;
  std::vector<size_t> masks_;
  std::vector<std::string> mask_names_;
  std::vector<batch::DType> mask_types_;
  std::vector<uint16_t> mask_fill_;  // the class for pixels from outside each mask
  bool has_boxes_ = false;
  batch::ColumnSpec boxes_column_;
  std::string keys_;  // all four keys, for messages
  bool pixels_ = false;
  double min_area_ = 0, min_visible_ = 0;
  std::optional<records::RecordParser> parser_;
  std::vector<Companion> companions_;
};

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_ANNOTATIONS_H_
