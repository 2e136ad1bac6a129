// channel_shuffle: puts the channels into one of their six orders, including the unchanged one, with equal probability.
// Draws: probability; one bounded draw. Leaves gray images unchanged. Source:
// torchvision.transforms.v2.RandomChannelPermutation.
#include <array>

#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/common/color_op.h"

namespace penstock::augment {
namespace {

constexpr std::array<int, 3> kOrders[6] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

struct Shuffle {
  std::array<int, 3> order;
  void operator()(const image::ImageView& in, image::ImageTarget out) const {
    image::ShuffleChannels(in, order.data(), out);
  }
};

std::unique_ptr<Op> MakeChannelShuffle(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const auto draw = [](SampleRandom* random, int, int) -> std::optional<Shuffle> {
    const uint32_t i = random->Below(6);
    if (i == 0) return std::nullopt;
    return Shuffle{kOrders[i]};
  };
  return MakeColorOnlyOp(setup, before, ChooseChance(setup, setup.spec->channel_shuffle()), true, draw, output);
}

const OpRegistration kChannelShuffleRegistration{"channel_shuffle", MakeChannelShuffle};

}  // namespace
}  // namespace penstock::augment
