// normalize: computes (x * scale - mean) / std per channel in float32, with each operation rounded separately, then
// converts to the output type. Presets: torchvision's ImageNet statistics, those of OpenAI's CLIP, and 0.5 and 0.5 from
// the Inception papers.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/tensor/tensor_input.h"
#include "pipeline/augment/value/element.h"
#include "pipeline/image/normalize_bytes.h"

namespace penstock::augment {
namespace {

struct Statistics {
  std::vector<float> mean, std;
};

struct Preset {
  std::string_view name;
  float mean[3], std[3];
};
constexpr Preset kPresets[] = {
    {"imagenet", {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
    {"clip", {0.48145466f, 0.4578275f, 0.40821073f}, {0.26862954f, 0.26130258f, 0.27577711f}},
    {"inception", {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}},
};

// The indices of the elements of channel c.
struct Layout {
  size_t channels, pixels;
  bool channels_first;
  size_t In(size_t pixel, size_t c) const { return pixel * channels + c; }
  size_t Out(size_t pixel, size_t c) const { return channels_first ? c * pixels + pixel : pixel * channels + c; }
};

class NormalizeOp final : public Op {
 public:
  NormalizeOp(const ValueType& input, size_t channels, const Statistics& statistics, float scale, batch::DType to,
              bool channels_first)
      : input_(input),
        channels_(channels),
        statistics_(statistics),
        scale_(scale),
        to_(to),
        channels_first_(channels_first) {
    bytes_.scale = scale;
    bytes_.mean = statistics.mean;
    bytes_.std = statistics.std;
    bytes_.to = to == batch::DType::kFloat32   ? image::FloatType::kFloat32
                : to == batch::DType::kFloat16 ? image::FloatType::kFloat16
                                               : image::FloatType::kBfloat16;
    bytes_.channels_first = channels_first;
  }

  bool MakesImage() const override { return false; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    PS_ASSIGN_OR_RETURN(const DenseTensor tensor, DenseInput(input_, context, value));
    uint8_t* out = context->Output(tensor.count * batch::DTypeSize(to_));
    if (!context->dry()) {
      // Several images (five_crop) are normalized one at a time.
      size_t images = 1;
      for (size_t i = 0; i + 3 < input_.shape.size(); ++i) images *= static_cast<size_t>(input_.shape[i]);
      const size_t count = tensor.count / images;
      const Layout layout{channels_, count / channels_, channels_first_};
      for (size_t i = 0; i < images; ++i) {
        NormalizeImage(tensor.data + i * count * batch::DTypeSize(input_.dtype), layout,
                       out + i * count * batch::DTypeSize(to_));
      }
    }
    value->data = out;
    return absl::OkStatus();
  }

 private:
  float Compute(float x, size_t c) const { return (x * scale_ - statistics_.mean[c]) / statistics_.std[c]; }

  void NormalizeImage(const uint8_t* in, const Layout& layout, uint8_t* out) const {
    if (input_.dtype == batch::DType::kUint8) {
      image::NormalizeBytes(bytes_, in, layout.pixels, out);
    } else {
      ComputeAll(in, layout, out);
    }
  }

  void ComputeAll(const uint8_t* in, const Layout& layout, uint8_t* out) const {
    VisitDType(input_.dtype, [&](auto source) {
      VisitDType(to_, [&](auto result) {
        using From = decltype(source);
        using To = decltype(result);
        for (size_t pixel = 0; pixel < layout.pixels; ++pixel) {
          for (size_t c = 0; c < channels_; ++c) {
            const auto x = ElementValue(LoadElement<From>(in + layout.In(pixel, c) * sizeof(From)));
            StoreElement(out + layout.Out(pixel, c) * sizeof(To),
                         ConvertElement<To>(Compute(static_cast<float>(x), c)));
          }
        }
      });
    });
  }

  const ValueType input_;
  const size_t channels_;
  const Statistics statistics_;
  const float scale_;
  const batch::DType to_;
  const bool channels_first_;
  image::BytesToFloats bytes_;  // for uint8 input
};

Statistics FindStatistics(const OpSetup& setup, const v1::Normalize& spec, size_t channels) {
  if (!spec.preset().empty()) {
    if (spec.mean_size() + spec.std_size() > 0) {
      setup.Error("preset", "stands alone; leave out mean and std");
    }
    for (const Preset& preset : kPresets) {
      if (preset.name != spec.preset()) continue;
      if (channels != 3) {
        setup.Error("preset", absl::StrCat("is for 3 channels, but there are ", channels, "; give mean and std"));
      }
      return {{preset.mean, preset.mean + 3}, {preset.std, preset.std + 3}};
    }
    setup.Error("preset", absl::StrCat("'", spec.preset(), "' is unknown; there are imagenet, clip and inception"));
    return {};
  }
  const auto spread = [&](const auto& numbers, std::string_view field, float missing) {
    std::vector<float> values(numbers.begin(), numbers.end());
    if (values.empty()) values = {missing};
    if (values.size() == 1) values.assign(channels, values[0]);
    if (values.size() != channels) {
      setup.Error(field, absl::StrCat("has ", values.size(), " values; it needs one, or one for each of the ", channels,
                                      " channels"));
    }
    return values;
  };
  Statistics statistics{spread(spec.mean(), "mean", 0.0f), spread(spec.std(), "std", 1.0f)};
  for (const float value : statistics.mean) {
    if (!std::isfinite(value)) setup.Error("mean", "must be finite");
  }
  for (const float value : statistics.std) {
    if (!(value > 0) || !std::isfinite(value)) setup.Error("std", "must be above 0");
  }
  return statistics;
}

std::unique_ptr<Op> MakeNormalize(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Normalize& spec = setup.spec->normalize();
  CheckDenseInput(setup);
  const std::vector<int64_t>& shape = setup.input.shape;
  if (spec.channels_first() && shape.size() < 3) {
    setup.Error("channels_first", "needs height x width x channels, or several of them");
  }
  if (setup.errors->size() != before) return nullptr;
  const size_t channels = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  const Statistics statistics = FindStatistics(setup, spec, channels);
  const float scale = spec.scale() != 0 ? spec.scale() : 1.0f / 255.0f;
  if (!std::isfinite(scale)) setup.Error("scale", "must be finite");
  const batch::DType to = ChooseFloatType(setup, spec.to());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  output->dtype = to;
  if (spec.channels_first()) std::rotate(output->shape.end() - 3, output->shape.end() - 1, output->shape.end());
  return std::make_unique<NormalizeOp>(setup.input, channels, statistics, scale, to, spec.channels_first());
}

const OpRegistration kNormalizeRegistration{"normalize", MakeNormalize};

}  // namespace
}  // namespace penstock::augment
