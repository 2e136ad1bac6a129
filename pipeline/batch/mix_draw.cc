#include "pipeline/batch/mix_draw.h"

#include <algorithm>
#include <cmath>

#include "base/distributions.h"
#include "base/hash.h"
#include "base/philox.h"

namespace penstock::batch {
namespace {

MixBox DrawBox(double lambda, int64_t height, int64_t width, SampleRandom* random) {
  const double half = 0.5 * std::sqrt(1.0 - lambda);
  const int64_t x = random->Below(static_cast<uint32_t>(width));
  const int64_t y = random->Below(static_cast<uint32_t>(height));
  const auto half_width = static_cast<int64_t>(half * static_cast<double>(width));
  const auto half_height = static_cast<int64_t>(half * static_cast<double>(height));
  return {std::max<int64_t>(0, x - half_width), std::max<int64_t>(0, y - half_height), std::min(width, x + half_width),
          std::min(height, y + half_height)};
}

}  // namespace

MixDraw DrawMix(const MixLaw& law, uint64_t seed, uint64_t epoch, uint64_t first_row, int64_t height, int64_t width) {
  SampleRandom random(HashWords({seed, epoch, Hash64("mix")}), first_row, 0);
  MixDraw draw;
  // Always draws both, so that later draws are the same for every probability and share.
  const bool mixed = random.Chance(law.probability);
  const bool cut = random.Chance(law.cutmix_share);
  if (!mixed) return draw;
  const bool cutmix = law.cutmix_alpha > 0 && (law.mixup_alpha <= 0 || cut);
  const double alpha = cutmix ? law.cutmix_alpha : law.mixup_alpha;
  draw.lambda = DrawBeta(alpha, alpha, &random);
  if (!cutmix) {
    draw.kind = MixDraw::Kind::kMixup;
    return draw;
  }
  draw.kind = MixDraw::Kind::kCutmix;
  draw.box = DrawBox(draw.lambda, height, width, &random);
  draw.lambda = 1.0 - static_cast<double>(draw.box.area()) / static_cast<double>(height * width);
  return draw;
}

}  // namespace penstock::batch
