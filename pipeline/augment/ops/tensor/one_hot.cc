// one_hot: converts an integer scalar in [0, classes) to [classes], with label smoothing (Szegedy et al., "Rethinking
// the Inception architecture", 2016): on = 1 - smoothing + smoothing / classes, off = smoothing / classes, in float32.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/tensor/tensor_input.h"
#include "pipeline/augment/value/element.h"

namespace penstock::augment {
namespace {

// One column takes at most 1 GiB per row. This limit keeps even float64 rows far below it.
constexpr uint32_t kMaxClasses = 1u << 24;

class OneHotOp final : public Op {
 public:
  OneHotOp(batch::DType from, batch::DType to, uint32_t classes, float smoothing)
      : from_(from), classes_(classes), size_(batch::DTypeSize(to)) {
    const float off = smoothing / static_cast<float>(classes);
    VisitDType(to, [&](auto result) {
      using To = decltype(result);
      off_.resize(sizeof(To));
      on_.resize(sizeof(To));
      StoreElement(off_.data(), ConvertElement<To>(off));
      StoreElement(on_.data(), ConvertElement<To>(1.0f - smoothing + off));
    });
  }

  bool MakesImage() const override { return false; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    uint8_t* out = context->Output(classes_ * size_);
    if (!context->dry()) {
      const int64_t label = VisitDType(
          from_, [&](auto source) { return ConvertElement<int64_t>(LoadElement<decltype(source)>(value->data)); });
      if (label < 0 || label >= static_cast<int64_t>(classes_)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the value is ", label, ", which is not in [0, ", classes_, ")"));
      }
      for (size_t i = 0; i < classes_; ++i) std::memcpy(out + i * size_, off_.data(), size_);
      std::memcpy(out + static_cast<size_t>(label) * size_, on_.data(), size_);
    }
    value->data = out;
    return absl::OkStatus();
  }

 private:
  const batch::DType from_;
  const size_t classes_, size_;
  std::vector<uint8_t> off_, on_;  // one element each
};

bool IsInteger(batch::DType dtype) {
  return dtype != batch::DType::kString && dtype != batch::DType::kBool && dtype != batch::DType::kFloat16 &&
         dtype != batch::DType::kBfloat16 && dtype != batch::DType::kFloat32 && dtype != batch::DType::kFloat64;
}

std::unique_ptr<Op> MakeOneHot(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::OneHot& spec = setup.spec->one_hot();
  const bool one = setup.input.shape.empty() || (setup.input.shape.size() == 1 && setup.input.shape[0] == 1);
  if (setup.input.ragged || !IsInteger(setup.input.dtype) || !one) setup.WrongInput("an integer scalar");
  if (spec.classes() < 2 || spec.classes() > kMaxClasses) {
    setup.Error("classes", absl::StrCat("must be from 2 to ", kMaxClasses, ", not ", spec.classes()));
  }
  if (!(spec.smoothing() >= 0 && spec.smoothing() < 1)) setup.Error("smoothing", "must be from 0 to below 1");
  const batch::DType to = ChooseNumericType(setup, spec.to(), v1::FLOAT32);
  if (spec.smoothing() > 0 && (IsInteger(to) || to == batch::DType::kBool)) {
    setup.Error("to", "must be a float type where there is smoothing");
  }
  if (setup.errors->size() != before) return nullptr;
  output->dtype = to;
  output->shape = {static_cast<int64_t>(spec.classes())};
  return std::make_unique<OneHotOp>(setup.input.dtype, output->dtype, spec.classes(), spec.smoothing());
}

const OpRegistration kOneHotRegistration{"one_hot", MakeOneHot};

}  // namespace
}  // namespace penstock::augment
