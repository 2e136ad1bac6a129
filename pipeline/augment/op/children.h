// Ops inside another op: how random_apply and one_of hold theirs.
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

// An op may be this many ops deep inside others.
constexpr int kMaxOpDepth = 8;

// What holds for the names in one list of ops at `path` ("ops", "ops[2].random_apply.ops"): a name is no number (which
// ops without a name have), has no '/' (which stands between parent and child), and occurs once, since ops of one name
// would draw the same numbers. Adds an error for each that breaks a rule.
void CheckOpNames(const google::protobuf::RepeatedPtrField<v1::Op>& ops, std::string_view path,
                  std::vector<std::string>* errors);

// Immutable, thread-safe.
class OpChildren {
 public:
  enum class Kind : uint8_t {
    kSequence,      // each works on what the one before it left
    kAlternatives,  // each works on the parent's input
  };

  // Builds the ops in `specs`, the parent's field `ops`. Every alternative, or the sequence as a whole, must keep the
  // parent's input type: dtype, channels, and the sides that are known; images stay images. After a mistake at least
  // one error was added and the object is of no use.
  static OpChildren Create(const OpSetup& parent, const google::protobuf::RepeatedPtrField<v1::Op>& specs, Kind kind);

  size_t size() const { return children_.size(); }
  bool AnyRandom() const;

  // Applies child i as a part of the parent's Apply. Its draws begin at their own beginning: they are named
  // "PARENT/CHILD", a child being its declared name or its number. `last`: nothing else changes the value afterwards
  // inside the parent, so that the pixels may go to the parent's target. Errors name the child.
  absl::Status Apply(size_t i, bool last, OpContext* parent, Value* value) const;

 private:
  struct Child {
    std::unique_ptr<Op> op;
    std::string label;  // "ops[2].random_apply.ops[1].rotate (column 'image')"
    uint64_t path_hash = 0;
  };

  std::vector<Child> children_;
};

// The dry run of an op that does one of several things: gathers what each would leave and take, and answers for all.
class DryOutcomes {
 public:
  // `is_image`: the parent's input is an image.
  DryOutcomes(bool is_image, const Value& input) : is_image_(is_image), result_(input) {}

  // One outcome: the value that it leaves, and the bytes that it takes up to there.
  void Add(const Value& value, size_t bytes);
  // The most that any outcome takes goes to the context's count. An image counts as lying in memory afterwards, with
  // the largest sides of all outcomes.
  void Finish(OpContext* context, Value* value);

 private:
  const bool is_image_;
  Value result_;
  size_t bytes_ = 0;
  int width_ = 0, height_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_CHILDREN_H_
