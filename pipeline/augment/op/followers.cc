#include "pipeline/augment/op/followers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace penstock {
namespace {

// Returns the inverse of a warp's map up to a common factor: from the input's pixels to those of the result, 3 x 3 by
// rows.
std::array<double, 9> Inverse(const WarpMap& map) {
  const auto& k = map.k;
  return {k[4] - k[5] * k[7],        k[2] * k[7] - k[1],        k[1] * k[5] - k[2] * k[4],
          k[5] * k[6] - k[3],        k[0] - k[2] * k[6],        k[2] * k[3] - k[0] * k[5],
          k[3] * k[7] - k[4] * k[6], k[1] * k[6] - k[0] * k[7], k[0] * k[4] - k[1] * k[3]};
}

}  // namespace

ImageMove ImageMove::Window(const Rect& window, PadMode mode, std::span<const uint16_t> mask_fill) {
  ImageMove move;
  move.kind = Kind::kWindow;
  move.window = window;
  move.mode = mode;
  move.mask_fill = mask_fill;
  return move;
}

ImageMove ImageMove::Warp(const WarpMap& map, int width, int height, std::span<const uint16_t> mask_fill) {
  ImageMove move;
  move.mask_fill = mask_fill;
  move.map = map;
  move.width = width;
  move.height = height;
  return move;
}

ImageMove ImageMove::Resize(int from_width, int from_height, int width, int height) {
  const double x = static_cast<double>(from_width) / width, y = static_cast<double>(from_height) / height;
  return Warp({{x, 0, 0, 0, y, 0, 0, 0}}, width, height);
}

ImageMove ImageMove::Mirror(int width, int height) { return Turn(2, width, height); }
ImageMove ImageMove::UpsideDown(int width, int height) { return Turn(4, width, height); }

ImageMove ImageMove::Turn(int orientation, int stored_width, int stored_height) {
  const double w = stored_width, h = stored_height;
  WarpMap map;
  switch (orientation) {
    case 2:
      map.k = {-1, 0, w, 0, 1, 0, 0, 0};
      break;
    case 3:
      map.k = {-1, 0, w, 0, -1, h, 0, 0};
      break;
    case 4:
      map.k = {1, 0, 0, 0, -1, h, 0, 0};
      break;
    case 5:
      map.k = {0, 1, 0, 1, 0, 0, 0, 0};
      break;
    case 6:
      map.k = {0, 1, 0, -1, 0, h, 0, 0};
      break;
    case 7:
      map.k = {0, -1, w, -1, 0, h, 0, 0};
      break;
    case 8:
      map.k = {0, -1, w, 1, 0, 0, 0, 0};
      break;
    default:
      break;
  }
  const bool swap = orientation >= 5 && orientation <= 8;
  return Warp(map, swap ? stored_height : stored_width, swap ? stored_width : stored_height);
}

void Followers::Start(int width, int height) {
  width_ = width;
  height_ = height;
  boxes_.clear();
  masks_.clear();
  fills_.clear();
}

void Followers::AddBox(double x0, double y0, double x1, double y1) {
  Box box{x0, y0, x1, y1};
  Clip(&box);
  box.visible = 1;
  boxes_.push_back(box);
}

void Followers::Clip(Box* box) const {
  const double area = (box->x1 - box->x0) * (box->y1 - box->y0);
  box->x0 = std::clamp(box->x0, 0.0, 1.0 * width_);
  box->x1 = std::clamp(box->x1, 0.0, 1.0 * width_);
  box->y0 = std::clamp(box->y0, 0.0, 1.0 * height_);
  box->y1 = std::clamp(box->y1, 0.0, 1.0 * height_);
  const double width = box->x1 - box->x0, height = box->y1 - box->y0;
  box->kept = width >= kMinSide && height >= kMinSide;
  if (box->kept) box->visible *= width * height / area;
}

void Followers::MoveBox(const ImageMove& move, Box* box) const {
  if (move.kind == ImageMove::Kind::kWindow) {
    box->x0 -= move.window.x;
    box->x1 -= move.window.x;
    box->y0 -= move.window.y;
    box->y1 -= move.window.y;
    return;
  }
  const std::array<double, 9> m = Inverse(move.map);
  // The value of w at the image's center, which is in front of the horizon if the map shows any part of the image.
  const double middle = m[6] * (width_ * 0.5) + m[7] * (height_ * 0.5) + m[8];
  Box moved{INFINITY, INFINITY, -INFINITY, -INFINITY, box->visible};
  for (const double x : {box->x0, box->x1}) {
    for (const double y : {box->y0, box->y1}) {
      const double w = m[6] * x + m[7] * y + m[8];
      const double u = (m[0] * x + m[1] * y + m[2]) / w, v = (m[3] * x + m[4] * y + m[5]) / w;
      // The corner is behind the horizon, or the map collapses the image to a line. The corner then has no position, so
      // the box becomes the whole image.
      if (!(w * middle > 0) || !std::isfinite(u) || !std::isfinite(v)) {
        *box = {0, 0, 1.0 * move.width, 1.0 * move.height, box->visible};
        return;
      }
      moved.x0 = std::min(moved.x0, u);
      moved.x1 = std::max(moved.x1, u);
      moved.y0 = std::min(moved.y0, v);
      moved.y1 = std::max(moved.y1, v);
    }
  }
  *box = moved;
}

void Followers::Apply(const ImageMove& move, Arena* arena) {
  for (Box& box : boxes_) {
    if (box.kept) MoveBox(move, &box);
  }
  const int width = move.new_width(), height = move.new_height();
  for (size_t i = 0; i < masks_.size(); ++i) {
    ImageView& mask = masks_[i];
    if (move.kind == ImageMove::Kind::kWindow && move.window.Inside(mask.width, mask.height)) {
      mask = mask.Crop(move.window);
      continue;
    }
    const size_t row = static_cast<size_t>(width) * static_cast<size_t>(mask.channels);
    const uint16_t outside = move.mask_fill.empty() ? fills_[i] : move.mask_fill[i];
    const uint8_t low = static_cast<uint8_t>(outside), fill[3] = {low, static_cast<uint8_t>(outside >> 8), low};
    uint8_t* pixels = arena->Acquire(row * static_cast<size_t>(height));
    if (move.kind == ImageMove::Kind::kWindow) {
      image::CopyWindow(mask, move.window, move.mode, fill, {pixels, row});
    } else {
      Warp(mask, move.map, WarpSampling::kNearest, fill, width, height, {pixels, row});
    }
    mask = {pixels, width, height, mask.channels, row};
  }
  width_ = width;
  height_ = height;
  for (Box& box : boxes_) {
    if (box.kept) Clip(&box);
  }
}

void Followers::StartMeasuring(const std::vector<DType>& masks) {
  masks_.clear();
  for (const DType type : masks) masks_.push_back({.channels = static_cast<int>(DTypeSize(type))});
}

size_t Followers::ApplyBytes(const ImageMove& move) const {
  if (masks_.empty()) return 0;
  const size_t width = static_cast<size_t>(move.new_width()), height = static_cast<size_t>(move.new_height());
  size_t bytes = 4 * width;  // the warp's table of columns, shared by the masks
  for (const ImageView& mask : masks_) bytes += width * height * static_cast<size_t>(mask.channels) + Arena::kSlack;
  return bytes;
}

}  // namespace penstock
