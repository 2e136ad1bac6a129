// Checks a job's annotations: the boxes and masks that belong to its image. In each row, starts the followers with the
// boxes and masks of the record, and writes the moved boxes to the row.
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
  // Adds "annotations.FIELD: MESSAGE" to *errors per mistake, or "ops[N]: MESSAGE" for an op that boxes and masks
  // cannot follow. The plan is inactive if the job has no annotations, or after any mistake except in `mask_fill`. Only
  // active(), IsMask() and OrderOps() may be called on an inactive plan.
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

  // The order in which the job's ops run: the masks' decode_image, then the image's ops, then the others. An inactive
  // plan has only others. Each group keeps the job's order. Draws do not depend on the order.
  struct Order {
    std::vector<int> decode_masks, image, others;
  };
  Order OrderOps(const v1::JobSpec& job) const;

  // Parses the record's boxes into `out`. Does nothing if the job has no boxes. Returns InvalidArgument if the counts
  // differ or the numbers do not form a box, and errors like RecordParser::Parse.
  absl::Status ParseBoxes(std::string_view record, records::ParsedExample* out) const;
  // Returns the bytes that the boxes in `parsed` need while a row is made.
  size_t BoxBytes(const records::ParsedExample& parsed) const;

  // Begins a row with the boxes of ParseBoxes and with the masks, in the order of masks(). Turns both upright if the
  // job requests it. Returns InvalidArgument if a mask has another size than the stored image.
  absl::Status Start(const image::ImageHeader& header, const records::ParsedExample& parsed,
                     const std::vector<image::ImageView>& masks, Arena* arena, Followers* followers) const;

  // Returns whether enough of a box is left to include it in the row.
  bool Keeps(const Followers::Box& box) const;
  // Writes the boxes that Keeps() accepts to their column. The companions are already in the slot; removes the elements
  // of the other boxes from them. Returns InvalidArgument if a companion has another count than the record has boxes.
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
