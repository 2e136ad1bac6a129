// vignette: darkens an image toward its corners, as an old lens does. A complete example of an own op.
//
//   ops { custom { op: "vignette"
//                  numbers { key: "strength" value: 0.6 }      # 0 to 1: share of light that the corners lose
//                  numbers { key: "jitter" value: 0.2 }        # the strength is uniform in strength -+ jitter
//                  texts { key: "shape" value: "round" } } }   # oval (as the image) or round
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "pipeline/augment/op/own_op.h"
#include "pipeline/augment/ops/common/pixel_op.h"

namespace {

using penstock::image::ImageTarget;
using penstock::image::ImageView;

// Returns the squared distance of each pixel's center from the middle of a side. A distance of `scale` is 1.
std::vector<double> SquaredDistances(int side, double scale) {
  std::vector<double> squares;
  for (int i = 0; i < side; ++i) {
    const double distance = (i + 0.5 - side / 2.0) / scale;
    squares.push_back(distance * distance);
  }
  return squares;
}

// Uses only additions, multiplications, divisions and a rounding of doubles, so that every CPU makes the same bytes.
void Darken(const ImageView& in, double strength, bool round, ImageTarget out) {
  const double half_width = in.width / 2.0, half_height = in.height / 2.0;
  const double radius = std::max(half_width, half_height);
  const std::vector<double> xs = SquaredDistances(in.width, round ? radius : half_width);
  const std::vector<double> ys = SquaredDistances(in.height, round ? radius : half_height);
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* from = in.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (int x = 0; x < in.width; ++x) {
      const double light = 1 - strength * (xs[static_cast<size_t>(x)] + ys[static_cast<size_t>(y)]) / 2;
      for (int c = 0; c < in.channels; ++c) *to++ = static_cast<uint8_t>(std::nearbyint(*from++ * light));
    }
  }
}

class VignetteOp final : public penstock::Op {
 public:
  VignetteOp(double strength, double jitter, bool round) : strength_(strength), jitter_(jitter), round_(round) {}

  // An op that draws must return true. Otherwise its result would be cached like the image itself.
  bool IsRandom() const override { return jitter_ > 0; }

  absl::Status Apply(penstock::OpContext* context, penstock::Value* value) const override {
    double strength = strength_;
    if (jitter_ > 0) strength += context->random.Uniform(-jitter_, jitter_);
    strength = std::clamp(strength, 0.0, 1.0);
    // Realizes the image, provides memory for the result, and only counts bytes when the pipeline asks for their
    // number.
    return penstock::FilterPixels(context, &value->image,
                                  [&](const ImageView& in, ImageTarget out) { Darken(in, strength, round_, out); });
  }

 private:
  const double strength_, jitter_;
  const bool round_;
};

std::unique_ptr<penstock::Op> MakeVignette(const penstock::OwnOpSetup& setup, penstock::ValueType* output) {
  if (!setup.input().IsImage()) {
    setup.WrongInput("a uint8 image; put decode_image before it");
    return nullptr;
  }
  *output = setup.input();  // the size does not change
  return std::make_unique<VignetteOp>(setup.Number("strength"), setup.Number("jitter"), setup.Text("shape") == "round");
}

}  // namespace

PENSTOCK_REGISTER_OP({
    .name = "vignette",
    .version = "1",  // change it whenever the pixels change
    .numbers = {{.name = "strength", .otherwise = 0.5, .min = 0, .max = 1},
                {.name = "jitter", .otherwise = 0, .min = 0, .max = 1}},
    .texts = {{.name = "shape", .otherwise = "oval", .choices = {"oval", "round"}}},
    .make = MakeVignette,
});
