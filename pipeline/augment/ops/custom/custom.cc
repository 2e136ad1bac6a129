// custom: an own op that is linked in; see own_op.h.
#include <cmath>
#include <exception>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fault.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/op/own_op.h"
#include "pipeline/augment/op/own_op_registry.h"

namespace penstock::augment {
namespace {

// Catches the exceptions of an own op, and adds the op's name to its errors.
class FencedOp final : public Op {
 public:
  FencedOp(std::string name, std::unique_ptr<Op> op) : name_(std::move(name)), op_(std::move(op)) {}

  bool IsRandom() const override { return op_->IsRandom(); }
  bool MakesImage() const override { return op_->MakesImage(); }

  absl::Status Apply(OpContext* context, Value* value) const override {
    try {
      const absl::Status status = op_->Apply(context, value);
      return Prefixed(name_, status);
    } catch (const std::exception& e) {
      return absl::InternalError(absl::StrCat(name_, " threw: ", e.what()));
    }
  }

 private:
  const std::string name_;
  const std::unique_ptr<Op> op_;
};

// Returns the names separated by commas, or "none".
template <typename List>
std::string Names(const List& list) {
  std::string names;
  for (const auto& each : list) absl::StrAppend(&names, names.empty() ? "" : ", ", each.name);
  return names.empty() ? "none" : names;
}

class Setup final : public OwnOpSetup {
 public:
  Setup(const OpSetup& setup, const OwnOp& own) : setup_(setup) {
    ReadNumbers(own);
    ReadTexts(own);
  }

  const ValueType& input() const override { return setup_.input; }
  double Number(std::string_view name) const override {
    const auto found = numbers_.find(name);
    PS_CHECK(found != numbers_.end());
    return found->second;
  }
  const std::string& Text(std::string_view name) const override {
    const auto found = texts_.find(name);
    PS_CHECK(found != texts_.end());
    return found->second;
  }
  void Error(std::string_view parameter, std::string_view message) const override { setup_.Error(parameter, message); }
  void WrongInput(std::string_view wanted) const override { setup_.WrongInput(wanted); }

 private:
  void ReadNumbers(const OwnOp& own) {
    const v1::Custom& spec = setup_.spec->custom();
    for (const OwnOp::Number& number : own.numbers) {
      const auto given = spec.numbers().find(number.name);
      const double value = given == spec.numbers().end() ? number.otherwise : given->second;
      if (!(value >= number.min && value <= number.max)) {
        setup_.Error("numbers", absl::StrCat("'", number.name, "' is ", value, ", but must be from ", number.min,
                                             " to ", number.max));
      }
      numbers_[number.name] = value;
    }
    for (const auto& [name, value] : std::map<std::string, double>(spec.numbers().begin(), spec.numbers().end())) {
      if (!numbers_.contains(name)) Unknown("numbers", name, own.name, Names(own.numbers));
    }
  }

  void ReadTexts(const OwnOp& own) {
    const v1::Custom& spec = setup_.spec->custom();
    for (const OwnOp::Text& text : own.texts) {
      const auto given = spec.texts().find(text.name);
      const std::string& value = given == spec.texts().end() ? text.otherwise : given->second;
      bool known = text.choices.empty();
      std::string choices;
      for (const std::string& choice : text.choices) {
        known = known || choice == value;
        absl::StrAppend(&choices, choices.empty() ? "" : ", ", choice);
      }
      if (!known) {
        setup_.Error("texts", absl::StrCat("'", text.name, "' is '", value, "', but must be one of: ", choices));
      }
      texts_[text.name] = value;
    }
    for (const auto& [name, value] : std::map<std::string, std::string>(spec.texts().begin(), spec.texts().end())) {
      if (!texts_.contains(name)) Unknown("texts", name, own.name, Names(own.texts));
    }
  }

  void Unknown(std::string_view field, const std::string& name, const std::string& op, const std::string& names) {
    setup_.Error(field,
                 absl::StrCat("'", op, "' has no '", name, "' among its ", std::string(field), ", which are: ", names));
  }

  const OpSetup& setup_;
  std::map<std::string, double, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> texts_;
};

std::unique_ptr<Op> MakeCustom(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  const std::string& name = setup.spec->custom().op();
  const OwnOp* own = FindOwnOp(name);
  if (own == nullptr) {
    setup.Error("op", absl::StrCat(name.empty() ? "names no own op" : absl::StrCat("own op '", name, "' is unknown"),
                                   " here; linked into this program are: ", Names(RegisteredOwnOps()),
                                   " (docs/own-ops.md shows how to link one)"));
    return nullptr;
  }
  const Setup own_setup(setup, *own);
  if (setup.errors->size() != before) return nullptr;
  std::unique_ptr<Op> op;
  ValueType type = setup.input;
  try {
    op = own->make(own_setup, &type);
  } catch (const std::exception& e) {
    setup.Error("", absl::StrCat("own op '", name, "' threw: ", e.what()));
  }
  if (op == nullptr && setup.errors->size() == before) {
    setup.Error("", absl::StrCat("own op '", name, "' rejects this job without a reason"));
  }
  if (setup.errors->size() != before) return nullptr;
  if (op->MakesImage() && !type.IsImage()) {
    setup.Error("", absl::StrCat("own op '", name, "' gives ", type.ToString(),
                                 " but its MakesImage() is true; it must be false"));
    return nullptr;
  }
  *output = type;
  return std::make_unique<FencedOp>(name, std::move(op));
}

const OpRegistration kCustomRegistration{"custom", MakeCustom};

}  // namespace
}  // namespace penstock::augment
