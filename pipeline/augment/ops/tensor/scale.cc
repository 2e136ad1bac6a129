// scale: computes x * factor + offset in float32, with each operation rounded separately, then converts to the output
// type.
#include <cmath>

#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/tensor/tensor_input.h"
#include "pipeline/augment/value/element.h"

namespace penstock::augment {
namespace {

class ScaleOp final : public Op {
 public:
  ScaleOp(const ValueType& input, float factor, float offset, batch::DType to)
      : input_(input), factor_(factor), offset_(offset), to_(to) {}

  bool MakesImage() const override { return false; }

  absl::Status Apply(OpContext* context, Value* value) const override {
    PS_ASSIGN_OR_RETURN(const DenseTensor tensor, DenseInput(input_, context, value));
    uint8_t* out = context->Output(tensor.count * batch::DTypeSize(to_));
    if (!context->dry()) {
      VisitDType(input_.dtype, [&](auto source) {
        VisitDType(to_, [&](auto result) {
          using From = decltype(source);
          using To = decltype(result);
          for (size_t i = 0; i < tensor.count; ++i) {
            const auto x = ElementValue(LoadElement<From>(tensor.data + i * sizeof(From)));
            StoreElement(out + i * sizeof(To), ConvertElement<To>(static_cast<float>(x) * factor_ + offset_));
          }
        });
      });
    }
    value->data = out;
    return absl::OkStatus();
  }

 private:
  const ValueType input_;
  const float factor_, offset_;
  const batch::DType to_;
};

std::unique_ptr<Op> MakeScale(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const v1::Scale& spec = setup.spec->scale();
  CheckDenseInput(setup);
  const float factor = spec.has_factor() ? spec.factor() : 1.0f;
  if (!std::isfinite(factor)) setup.Error("factor", "must be finite");
  if (!std::isfinite(spec.offset())) setup.Error("offset", "must be finite");
  const batch::DType to = ChooseFloatType(setup, spec.to());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  output->dtype = to;
  return std::make_unique<ScaleOp>(setup.input, factor, spec.offset(), to);
}

const OpRegistration kScaleRegistration{"scale", MakeScale};

}  // namespace
}  // namespace penstock::augment
