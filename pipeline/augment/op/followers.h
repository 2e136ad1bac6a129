// Boxes and masks that follow the pixels of their image. An op that moves pixels reports each move once
// (OpContext::Moved). Ops that only change colors report nothing.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_FOLLOWERS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_FOLLOWERS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/augment/value/arena.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"

namespace penstock {

// One move of the whole image. The followers know the image's size before it.
struct ImageMove {
  enum class Kind : uint8_t { kWindow, kWarp };
  Kind kind = Kind::kWarp;
  // kWindow: the part of the image that remains. It may extend beyond the image; `mode` defines the pixels there.
  Rect window;
  PadMode mode = PadMode::kConstant;
  // The class for pixels from outside each mask. If empty, the fill of AddMask applies. Must outlive the move.
  std::span<const uint16_t> mask_fill;
  // kWarp: the new size and the sources of its pixels.
  int width = 0, height = 0;
  WarpMap map;

  static ImageMove Window(const Rect& window, PadMode mode = PadMode::kConstant,
                          std::span<const uint16_t> mask_fill = {});
  static ImageMove Warp(const WarpMap& map, int width, int height, std::span<const uint16_t> mask_fill = {});
  // Returns the move of a resize from from_width x from_height to width x height.
  static ImageMove Resize(int from_width, int from_height, int width, int height);
  static ImageMove Mirror(int width, int height);      // left to right
  static ImageMove UpsideDown(int width, int height);  // top to bottom
  // Returns the move of an EXIF orientation (1 to 8) of a stored image of this size.
  static ImageMove Turn(int orientation, int stored_width, int stored_height);

  int new_width() const { return kind == Kind::kWindow ? window.width : width; }
  int new_height() const { return kind == Kind::kWindow ? window.height : height; }
};

// The followers of one image in one row. Not thread-safe. Start reuses the memory of the previous row.
class Followers {
 public:
  // A box with a smaller side, in pixels, counts as empty. Rounding of float32 corners leaves slivers of this order
  // beyond an edge (2^-24 of the image's side).
  static constexpr double kMinSide = 1.0 / 256;

  struct Box {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // pixels in the current image, clipped to it
    double visible = 1;                     // fraction of its area that was never cut off
    bool kept = true;                       // false: nothing of it remains
  };

  // Begins a row with an image of this size, without boxes and masks.
  void Start(int width, int height);
  // Adds a box, clipped to the image. This clipping does not reduce `visible`.
  void AddBox(double x0, double y0, double x1, double y1);
  // Adds a mask of the image's size with one channel, or two for 16-bit classes. `mask` must outlive the row. `fill` is
  // the class for pixels from outside if a move has no mask_fill.
  void AddMask(const ImageView& mask, uint16_t fill) {
    masks_.push_back(mask);
    fills_.push_back(fill);
  }

  // Applies a move. A box becomes the bounding box of its moved corners, clipped to the new image. It becomes the whole
  // image if the move gives a corner no position. Masks use nearest neighbor, and pixels from outside are the fill or
  // follow the window's mode. The arena holds the masks' new pixels. A window inside a mask only narrows its view.
  void Apply(const ImageMove& move, Arena* arena);

  // Returns all boxes, kept or not, in the order in which they were added.
  const std::vector<Box>& boxes() const { return boxes_; }
  const std::vector<ImageView>& masks() const { return masks_; }
  int width() const { return width_; }
  int height() const { return height_; }
  size_t held_bytes() const {
    return boxes_.capacity() * sizeof(Box) + masks_.capacity() * sizeof(ImageView) +
           fills_.capacity() * sizeof(uint16_t);
  }

  // For dry runs: StartMeasuring sets the element types of the masks. ApplyBytes then returns an upper bound of the
  // memory that Apply needs for them.
  void StartMeasuring(const std::vector<DType>& masks);
  size_t ApplyBytes(const ImageMove& move) const;

 private:
  void MoveBox(const ImageMove& move, Box* box) const;
  void Clip(Box* box) const;

  int width_ = 0, height_ = 0;
  std::vector<Box> boxes_;
  std::vector<ImageView> masks_;
  std::vector<uint16_t> fills_;  // one per mask
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_FOLLOWERS_H_
