// Ops inside another op, used by random_apply and one_of.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_CHILDREN_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_CHILDREN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "pipeline/augment/op/op.h"

namespace penstock {

// The maximum nesting depth of an op.
constexpr int kMaxOpDepth = 8;

// Checks the op names in one list of ops at `path` ("ops", "ops[2].random_apply.ops"). A name must not be a number,
// which identifies ops without a name. It must not contain '/', which separates parent and child. It must be unique,
// because ops with the same name would draw the same numbers. Adds an error per violation.
void CheckOpNames(const google::protobuf::RepeatedPtrField<v1::Op>& ops, std::string_view path,
                  std::vector<std::string>* errors);

// Immutable, thread-safe.
class OpChildren {
 public:
  enum class Kind : uint8_t {
    kSequence,      // each op receives the result of the previous one
    kAlternatives,  // each op receives the parent's input
  };

  // Builds the ops in `specs`, the parent's field `ops`. An op must make an image if and only if the parent's input is
  // one. A sequence must end with the parent's input type: dtype, channels and known sides. Alternatives may change
  // known sides if all of them produce the same ones. After a mistake, Create has added at least one error, and the
  // object is unusable.
  static OpChildren Create(const OpSetup& parent, const google::protobuf::RepeatedPtrField<v1::Op>& specs, Kind kind);

  size_t size() const { return children_.size(); }
  // Returns the type of the result of every alternative. A side that differs between them is kAnySize. A sequence keeps
  // the type of the input.
  const ValueType& output() const { return output_; }
  bool AnyRandom() const;

  // Applies child i as part of the parent's Apply. The child has draws of its own, under the path "PARENT/CHILD". CHILD
  // is its declared name or its number. Set `last` if no other op inside the parent changes the value afterwards; the
  // pixels may then go to the parent's target. Errors name the child.
  absl::Status Apply(size_t i, bool last, OpContext* parent, Value* value) const;

 private:
  struct Child {
    std::unique_ptr<Op> op;
    std::string label;  // "ops[2].random_apply.ops[1].rotate (column 'image')"
    uint64_t path_hash = 0;
  };

  // Merges the result type of one more alternative into output_.
  void JoinSides(const OpSetup& setup, bool first, const ValueType& type);

  std::vector<Child> children_;
  ValueType output_;
};

// Combines the values and bytes of all outcomes in the dry run of an op that has several.
class DryOutcomes {
 public:
  // `is_image` states whether the parent's input is an image.
  DryOutcomes(bool is_image, const Value& input) : is_image_(is_image), result_(input) {}

  // Adds one outcome: its result, and the bytes that it needs.
  void Add(const Value& value, size_t bytes);
  // Adds the maximum bytes of all outcomes to the context's count. An image counts as realized afterwards, with the
  // largest sides of all outcomes.
  void Finish(OpContext* context, Value* value);

 private:
  const bool is_image_;
  Value result_;
  size_t bytes_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_CHILDREN_H_
