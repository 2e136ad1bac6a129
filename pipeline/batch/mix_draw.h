// The random draw for one group of mixed rows: mixup (Zhang et al., "mixup: beyond empirical risk minimization", 2018)
// or CutMix (Yun et al., "CutMix: regularization strategy to train strong classifiers with localizable features",
// 2019).
#ifndef PENSTOCK_PIPELINE_BATCH_MIX_DRAW_H_
#define PENSTOCK_PIPELINE_BATCH_MIX_DRAW_H_

#include <cstdint>

namespace penstock::batch {

// The distribution of the draws. At least one alpha is above 0.
struct MixLaw {
  double mixup_alpha = 0;     // 0: no mixup
  double cutmix_alpha = 0;    // 0: no cutmix
  double probability = 1;     // probability that a group is mixed
  double cutmix_share = 0.5;  // share of cutmix among mixed groups, if both are on
};

// Pixels [x0, x1) x [y0, y1).
struct MixBox {
  int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  int64_t area() const { return (x1 - x0) * (y1 - y0); }
  bool operator==(const MixBox&) const = default;
};

struct MixDraw {
  enum class Kind : uint8_t { kNone, kMixup, kCutmix };
  Kind kind = Kind::kNone;
  // The share of a row's own content, in [0, 1]. The rest comes from its partner. For cutmix it follows from the area
  // of the box.
  double lambda = 1;
  MixBox box;  // kCutmix: the pixels from the partner. May be empty.
};

// Returns the draw of the group whose first row has the number `first_row` in its epoch (plan/steps.h). `height` and
// `width` are the sides of the images, used only for cutmix. The draw depends only on the arguments: Philox has the key
// hash(seed, epoch, "mix") and the counter first_row.
//   mixup   lambda ~ Beta(alpha, alpha)
//   cutmix  the same, then the box of torchvision.transforms.v2.CutMix and timm's rand_bbox. Its center is uniform over
//           the pixels, and its sides are sqrt(1 - lambda) of the image's sides, clipped at the border. lambda then
//           becomes the share of the pixels outside the box.
MixDraw DrawMix(const MixLaw& law, uint64_t seed, uint64_t epoch, uint64_t first_row, int64_t height, int64_t width);

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_MIX_DRAW_H_
