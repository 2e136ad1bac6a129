#include "pipeline/augment/op/followers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace penstock {
namespace {

constexpr uint8_t kBackground[3] = {0, 0, 0};

// The inverse of a warp's map up to a common factor: from the input's pixels to the result's, 3 x 3 by rows.
std::array<double, 9> Inverse(const WarpMap& map) {
  const auto& k = map.k;
  return {k[4] - k[5] * k[7],        k[2] * k[7] - k[1],        k[1] * k[5] - k[2] * k[4],
          k[5] * k[6] - k[3],        k[0] - k[2] * k[6],        k[2] * k[3] - k[0] * k[5],
          k[3] * k[7] - k[4] * k[6], k[1] * k[6] - k[0] * k[7], k[0] * k[4] - k[1] * k[3]};
}

}  // namespace

ImageMove ImageMove::Window(const Rect& window, PadMode mode) {
  ImageMove move;
  move.kind = Kind::kWindow;
  move.window = window;
  move.mode = mode;
  return move;
}

ImageMove ImageMove::Warp(const WarpMap& map, int width, int height) {
  ImageMove move;
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
  // Seen from the image's center, which a map that shows anything of the image keeps in front of the horizon.
  const double middle = m[6] * (width_ * 0.5) + m[7] * (height_ * 0.5) + m[8];
  Box moved{INFINITY, INFINITY, -INFINITY, -INFINITY, box->visible};
  for (const double x : {box->x0, box->x1}) {
    for (const double y : {box->y0, box->y1}) {
      const double w = m[6] * x + m[7] * y + m[8];
      const double u = (m[0] * x + m[1] * y + m[2]) / w, v = (m[3] * x + m[4] * y + m[5]) / w;
      // Behind the horizon, or a map that joins pixels to a line: its place is not known. The whole image holds it.
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
  const size_t row = static_cast<size_t>(width);
  for (ImageView& mask : masks_) {
    if (move.kind == ImageMove::Kind::kWindow && move.window.Inside(mask.width, mask.height)) {
      mask = mask.Crop(move.window);
      continue;
    }
    uint8_t* pixels = arena->Acquire(row * static_cast<size_t>(height));
    if (move.kind == ImageMove::Kind::kWindow) {
      CopyWindow(mask, move.window, move.mode, kBackground, {pixels, row});
    } else {
      Warp(mask, move.map, WarpSampling::kNearest, kBackground, width, height, {pixels, row});
    }
    mask = {pixels, width, height, 1, row};
  }
  width_ = width;
  height_ = height;
  for (Box& box : boxes_) {
    if (box.kept) Clip(&box);
  }
}

size_t Followers::ApplyBytes(const ImageMove& move) const {
  if (masks_.empty()) return 0;
  const size_t width = static_cast<size_t>(move.new_width()), height = static_cast<size_t>(move.new_height());
  // The warp's table of columns, once at a time.
  return masks_.size() * (width * height + Arena::kSlack) + 4 * width;
}

}  // namespace penstock
