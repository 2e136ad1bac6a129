#include "pipeline/image/orientation.h"

namespace penstock::image {
namespace {

// Maps upright coordinates to stored ones: swap first, then mirror. The values follow EXIF's table of where the stored
// row 0 and column 0 appear. Orientations: 2 mirrored, 3 upside down, 4 mirrored top to bottom, 5 transposed, 6 needs a
// turn to the right, 7 transversed, 8 needs a turn to the left.
struct Turn {
  bool swap, mirror_x, mirror_y;
};

Turn TurnOf(int orientation) {
  switch (orientation) {
    case 2:
      return {false, true, false};
    case 3:
      return {false, true, true};
    case 4:
      return {false, false, true};
    case 5:
      return {true, false, false};
    case 6:
      return {true, false, true};
    case 7:
      return {true, true, true};
    case 8:
      return {true, true, false};
    default:
      return {false, false, false};
  }
}

}  // namespace

Rect StoredRect(const Rect& upright, int orientation, int stored_width, int stored_height) {
  const Turn turn = TurnOf(orientation);
  Rect rect = upright;
  if (turn.swap) rect = {upright.y, upright.x, upright.height, upright.width};
  if (turn.mirror_x) rect.x = stored_width - rect.x - rect.width;
  if (turn.mirror_y) rect.y = stored_height - rect.y - rect.height;
  return rect;
}

void TurnUpright(const ImageView& stored, int orientation, uint8_t* out, size_t stride) {
  const Turn turn = TurnOf(orientation);
  const int width = turn.swap ? stored.height : stored.width;
  const int height = turn.swap ? stored.width : stored.height;
  const size_t channels = static_cast<size_t>(stored.channels);
  for (int y = 0; y < height; ++y, out += stride) {
    for (int x = 0; x < width; ++x) {
      int from_x = turn.swap ? y : x, from_y = turn.swap ? x : y;
      if (turn.mirror_x) from_x = stored.width - 1 - from_x;
      if (turn.mirror_y) from_y = stored.height - 1 - from_y;
      const uint8_t* from = stored.row(from_y) + static_cast<size_t>(from_x) * channels;
      for (size_t c = 0; c < channels; ++c) out[static_cast<size_t>(x) * channels + c] = from[c];
    }
  }
}

}  // namespace penstock::image
