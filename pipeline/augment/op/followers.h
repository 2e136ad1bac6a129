// Boxes and masks that go where the pixels of their image go. An op that moves pixels tells each move once
// (OpContext::Moved); ops that only change colors say nothing.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_FOLLOWERS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_FOLLOWERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/augment/value/arena.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"

namespace penstock {

// One move of the whole image, whose size before it is known to the followers.
struct ImageMove {
  enum class Kind : uint8_t { kWindow, kWarp };
  Kind kind = Kind::kWarp;
  // kWindow: this part of the image is left; it may reach beyond the image, and what is there is as `mode` says.
  Rect window;
  PadMode mode = PadMode::kConstant;
  // kWarp: the new size, and from where its pixels come.
  int width = 0, height = 0;
  WarpMap map;

  static ImageMove Window(const Rect& window, PadMode mode = PadMode::kConstant);
  static ImageMove Warp(const WarpMap& map, int width, int height);
  // From an image of from_width x from_height to one of width x height.
  static ImageMove Resize(int from_width, int from_height, int width, int height);
  static ImageMove Mirror(int width, int height);      // left to right
  static ImageMove UpsideDown(int width, int height);  // top to bottom
  // By an EXIF orientation (1 to 8), of a stored image of this size.
  static ImageMove Turn(int orientation, int stored_width, int stored_height);

  int new_width() const { return kind == Kind::kWindow ? window.width : width; }
  int new_height() const { return kind == Kind::kWindow ? window.height : height; }
};

// The followers of one image in one row. Not thread-safe; used again for the next row.
class Followers {
 public:
  // A side below this, in pixels, is nothing: what the rounding of float32 corners leaves beyond an edge is of this
  // order (2^-24 of the image's side).
  static constexpr double kMinSide = 1.0 / 256;

  struct Box {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // pixels of the image as it is now, inside it
    double visible = 1;                     // of its area, the fraction that was never cut off
    bool kept = true;                       // false: nothing of it is left
  };

  // Begins a row with an image of this size, without boxes and masks.
  void Start(int width, int height);
  // Clipped to the image at once; this does not count as cut off.
  void AddBox(double x0, double y0, double x1, double y1);
  // `mask` has the image's size and one channel, and outlives the row.
  void AddMask(const ImageView& mask) { masks_.push_back(mask); }

  // Boxes: the bounding box of the moved corners, clipped to the new image. Masks: nearest neighbor; 0 comes in from
  // outside, or what a window's mode says. Masks' pixels are made in the arena.
  void Apply(const ImageMove& move, Arena* arena);

  // In the order in which they were added.
  const std::vector<Box>& boxes() const { return boxes_; }
  const std::vector<ImageView>& masks() const { return masks_; }
  int width() const { return width_; }
  int height() const { return height_; }
  size_t held_bytes() const { return boxes_.capacity() * sizeof(Box) + masks_.capacity() * sizeof(ImageView); }

  // For dry runs: upper bound of what Apply takes for this many masks.
  void StartMeasuring(size_t masks) { masks_.assign(masks, ImageView()); }
  size_t ApplyBytes(const ImageMove& move) const;

 private:
  void MoveBox(const ImageMove& move, Box* box) const;
  void Clip(Box* box) const;

  int width_ = 0, height_ = 0;
  std::vector<Box> boxes_;
  std::vector<ImageView> masks_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_FOLLOWERS_H_
