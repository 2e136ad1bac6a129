// cast: converts each element to another type by the rules of ConvertElement, except that an integer which another
// integer type does not have is an error: it may be a token or a label. A uint8 result with the shape of an image is an
// image, so image ops accept it.
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/ops/tensor/tensor_input.h"
#include "pipeline/augment/value/element.h"

namespace penstock::augment {
namespace {

// Converts all elements. Returns whether the result has a value for each of them.
using Convert = bool (*)(const uint8_t* from, size_t count, uint8_t* to);

template <typename From, typename To>
constexpr bool kIntegers = std::conjunction_v<std::is_integral<From>, std::is_integral<To>>;

template <typename From, typename To>
bool ConvertAll(const uint8_t* from, size_t count, uint8_t* to) {
  bool fits = true;
  for (size_t i = 0; i < count; ++i) {
    const From element = LoadElement<From>(from + i * sizeof(From));
    if constexpr (kIntegers<From, To>) fits = fits & std::in_range<To>(element);
    StoreElement(to + i * sizeof(To), ConvertElement<To>(element));
  }
  return fits;
}

// Returns the error for the first element that the integer type `to` does not have. Both types are integers.
absl::Status DoesNotFit(batch::DType from, batch::DType to, const uint8_t* elements, size_t count) {
  __int128 least = 0, greatest = 0;
  std::string range, value;
  VisitDType(to, [&](auto result) {
    using Limits = std::numeric_limits<decltype(result)>;
    if constexpr (std::is_integral_v<decltype(result)>) {
      least = Limits::min();
      greatest = Limits::max();
      range = absl::StrCat("from ", std::to_string(Limits::min()), " to ", std::to_string(Limits::max()));
    }
  });
  VisitDType(from, [&](auto source) {
    using From = decltype(source);
    if constexpr (std::is_integral_v<From>) {
      for (size_t i = 0; i < count && value.empty(); ++i) {
        const From element = LoadElement<From>(elements + i * sizeof(From));
        if (element < least || element > greatest) value = std::to_string(element);
      }
    }
  });
  return absl::InvalidArgumentError(absl::StrCat("the value ", value, " is not one of ",
                                                 std::string(batch::DTypeName(to)), ", which is ", range,
                                                 "; cast to a larger type"));
}

Convert FindConvert(batch::DType from, batch::DType to) {
  return VisitDType(from, [&](auto source) {
    return VisitDType(to, [&](auto result) -> Convert { return ConvertAll<decltype(source), decltype(result)>; });
  });
}

class CastOp final : public Op {
 public:
  CastOp(const ValueType& input, const ValueType& output)
      : input_(input),
        output_(output),
        convert_(FindConvert(input.dtype, output.dtype)),
        size_(batch::DTypeSize(output.dtype)) {}

  bool MakesImage() const override { return output_.IsImage(); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    PS_ASSIGN_OR_RETURN(const DenseTensor tensor, DenseInput(input_, context, value));
    uint8_t* out = context->Output(tensor.count * size_);
    if (!context->dry() && !convert_(tensor.data, tensor.count, out)) {
      return DoesNotFit(input_.dtype, output_.dtype, tensor.data, tensor.count);
    }
    value->data = out;
    if (output_.IsImage()) {
      const int channels = static_cast<int>(output_.shape[2]);
      const int height = input_.IsImage() ? tensor.height : static_cast<int>(output_.shape[0]);
      const int width = input_.IsImage() ? tensor.width : static_cast<int>(output_.shape[1]);
      value->image = LazyImage::InMemory(
          {out, width, height, channels, static_cast<size_t>(width) * static_cast<size_t>(channels)});
    }
    return absl::OkStatus();
  }

 private:
  const ValueType input_, output_;
  const Convert convert_;
  const size_t size_;
};

std::unique_ptr<Op> MakeCast(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  CheckDenseInput(setup);
  const batch::DType to = ChooseNumericType(setup, setup.spec->cast().to());
  if (setup.errors->size() != before) return nullptr;
  *output = setup.input;
  output->dtype = to;
  return std::make_unique<CastOp>(setup.input, *output);
}

const OpRegistration kCastRegistration{"cast", MakeCast};

}  // namespace
}  // namespace penstock::augment
