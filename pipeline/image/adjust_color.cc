// Changes of color; see adjust.h.
#include "pipeline/image/adjust.h"
#include "pipeline/image/adjust_loops.h"

namespace penstock::image {

void ToGrayscale(const ImageView& in, ImageTarget out) {
  if (in.channels == 1) return CopyPixels(in, out);
  SpreadLuma(in, out);
}

void AdjustHue(const ImageView& in, double turn, ImageTarget out) {
  if (in.channels == 1) return CopyPixels(in, out);
  // torchvision truncates toward 0, then takes the value modulo 256. A turn of 0 still goes through HSV, which loses
  // some precision.
  TurnHue(in, static_cast<uint8_t>(static_cast<int>(turn * 255.0)), out);
}

void ShuffleChannels(const ImageView& in, const int order[3], ImageTarget out) {
  if (in.channels == 1) return CopyPixels(in, out);
  const size_t first = static_cast<size_t>(order[0]), second = static_cast<size_t>(order[1]),
               third = static_cast<size_t>(order[2]);
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* from = in.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (size_t i = 0; i < in.row_bytes(); i += 3) {
      const uint8_t a = from[i + first], b = from[i + second], c = from[i + third];
      to[i] = a;
      to[i + 1] = b;
      to[i + 2] = c;
    }
  }
}

}  // namespace penstock::image
