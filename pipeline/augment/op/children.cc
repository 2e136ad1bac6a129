#include "pipeline/augment/op/children.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/value/step_error.h"

namespace penstock {
namespace {

bool IsNumber(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Returns whether the types have the same elements and channels. The sides of images may differ.
bool SameButSides(const ValueType& a, const ValueType& b) {
  return a.dtype == b.dtype && a.IsImage() && b.IsImage() && a.shape[2] == b.shape[2];
}

// Returns whether a value of type `output` can replace one of type `input`.
bool Keeps(const ValueType& input, const ValueType& output) {
  if (input.dtype != output.dtype || input.ragged != output.ragged || input.scalar != output.scalar ||
      input.shape.size() != output.shape.size()) {
    return false;
  }
  for (size_t i = 0; i < input.shape.size(); ++i) {
    if (input.shape[i] != kAnySize && input.shape[i] != output.shape[i]) return false;
  }
  return true;
}

}  // namespace

void CheckOpNames(const google::protobuf::RepeatedPtrField<v1::Op>& ops, std::string_view path,
                  std::vector<std::string>* errors) {
  std::set<std::string> names;
  for (int i = 0; i < ops.size(); ++i) {
    const std::string& name = ops[i].name();
    const auto error = [&](const char* message) {
      errors->push_back(absl::StrCat(std::string(path), "[", i, "].name: '", name, "' ", message));
    };
    if (IsNumber(name)) {
      error("is a number, which ops without a name have");
    } else if (name.find('/') != std::string::npos) {
      error("has a '/', which stands between the names of an op and of one inside it");
    } else if (!name.empty() && !names.insert(name).second) {
      error("is an earlier op's name too; both would draw the same numbers");
    }
  }
}

OpChildren OpChildren::Create(const OpSetup& parent, const google::protobuf::RepeatedPtrField<v1::Op>& specs,
                              Kind kind) {
  OpChildren children;
  if (specs.empty()) parent.Error("ops", "needs at least one op inside");
  if (parent.depth + 1 > kMaxOpDepth) {
    parent.Error("ops", absl::StrCat("ops may be inside others at most ", kMaxOpDepth, " deep"));
    return children;
  }
  CheckOpNames(specs, parent.path + ".ops", parent.errors);
  ValueType type = parent.input;
  children.output_ = parent.input;
  for (int i = 0; i < specs.size(); ++i) {
    const v1::Op& spec = specs[i];
    const std::string place = absl::StrCat(parent.path, ".ops[", i, "]");
    const std::string name = OpName(spec);
    const OpFactory factory = FindOp(name);
    if (factory == nullptr) {
      parent.errors->push_back(absl::StrCat(place, ": names no op, such as random_horizontal_flip { }"));
      return children;
    }
    if (!spec.column().empty()) {
      parent.errors->push_back(absl::StrCat(
          place, ".column: must be empty; an op inside another op works on the column of the outer op, here '",
          parent.column, "'"));
    }
    OpSetup setup = parent;
    setup.spec = &spec;
    setup.input = kind == Kind::kSequence ? type : parent.input;
    setup.path = absl::StrCat(place, ".", name);
    setup.random_path = absl::StrCat(parent.random_path, "/", spec.name().empty() ? std::to_string(i) : spec.name());
    setup.depth = parent.depth + 1;
    Child child;
    child.label = absl::StrCat(setup.path, " (column '", parent.column, "')");
    child.path_hash = Hash64(setup.random_path);
    child.op = factory(setup, &type);
    if (child.op == nullptr) {
      // The next op of a sequence would have an unknown input. Alternatives are checked independently.
      if (kind == Kind::kSequence) return children;
      continue;
    }
    if (child.op->MakesImage() != parent.input.IsImage()) {
      setup.Error("", parent.input.IsImage() ? "leaves numbers instead of an image; put it behind the outer op"
                                             : "makes an image; put it before the outer op");
    } else if (kind == Kind::kAlternatives && SameButSides(parent.input, type)) {
      children.JoinSides(setup, /*first=*/children.children_.empty(), type);
    } else if ((kind == Kind::kAlternatives || i + 1 == specs.size()) && !Keeps(parent.input, type)) {
      setup.Error("", absl::StrCat("leaves ", type.ToString(), ", but the value after the outer op must be ",
                                   parent.input.ToString(), " in every row"));
    }
    children.children_.push_back(std::move(child));
  }
  return children;
}

void OpChildren::JoinSides(const OpSetup& setup, bool first, const ValueType& type) {
  if (first) {
    output_ = type;
    return;
  }
  for (size_t side = 0; side < 2; ++side) {
    if (output_.shape[side] == type.shape[side]) continue;
    // A later op accepts any size if the input could have any size.
    if (setup.input.shape[side] != kAnySize) {
      setup.Error("", absl::StrCat("leaves ", type.ToString(), ", but an op before it leaves ", output_.ToString(),
                                   "; all ops inside must leave the same size"));
      return;
    }
    output_.shape[side] = kAnySize;
  }
}

bool OpChildren::AnyRandom() const {
  return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.op->IsRandom(); });
}

absl::Status OpChildren::Apply(size_t i, bool last, OpContext* parent, Value* value) const {
  const Child& child = children_[i];
  OpContext context = *parent;
  context.random = parent->key.RandomOf(child.path_hash);
  if (!last) context.target = nullptr;
  return AtStep(child.label, child.op->Apply(&context, value));
}

void DryOutcomes::Add(const Value& value, size_t bytes) {
  if (is_image_) {
    Value outcome = value;
    outcome.image.PretendRealized(&bytes);
    width_ = std::max(width_, outcome.image.width());
    height_ = std::max(height_, outcome.image.height());
  }
  bytes_ = std::max(bytes_, bytes);
}

void DryOutcomes::Finish(OpContext* context, Value* value) {
  *context->dry_bytes += bytes_;
  *value = result_;
  if (is_image_) {
    const int channels = result_.image.channels();
    value->image = LazyImage::InMemory(
        {nullptr, width_, height_, channels, static_cast<size_t>(width_) * static_cast<size_t>(channels)});
  }
}

}  // namespace penstock
