// One op of a pipeline: what it does to a column's value in one row. ../README.md says how to add one; checks, fusion,
// random keys, memory accounting and contact sheets then know it.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_OP_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_OP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/philox.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/op/followers.h"
#include "pipeline/augment/op/sample_key.h"
#include "pipeline/augment/value/value.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// What an op gets beside its value. Lives as long as one op on one row.
struct OpContext {
  ImageTools* tools = nullptr;
  // The op's own draws for this sample. Every op starts at its own beginning, whatever ran before it.
  SampleRandom random{0, 0, 0};
  // What `random` was made of, for ops that hold others.
  SampleKey key;
  // Where the column's final tensor belongs, when this is its last op; else null: take memory from the arena.
  uint8_t* target = nullptr;
  // Damage fails the row even under a lenient op.
  bool strict = false;
  // Set when a lenient op met damage.
  bool* damaged = nullptr;
  // Not null in a dry run: nothing is decoded, drawn or written; Apply gives the value that takes most memory and
  // adds the bytes that it would take here.
  size_t* dry_bytes = nullptr;
  // The boxes and masks of this column's image; null where it has none.
  Followers* followers = nullptr;

  bool dry() const { return dry_bytes != nullptr; }
  // Memory for a tensor: the target, or the arena's. Null in a dry run.
  uint8_t* Output(size_t bytes);
  // Makes the pixels of `image` lie in memory.
  absl::Status Realize(LazyImage* image);
  // Every op that moves an image's pixels says each move here once, in a dry run too (then the one that takes most
  // memory), so that boxes and masks follow.
  void Moved(const ImageMove& move);
};

class Op {
 public:
  virtual ~Op() = default;

  // Whether it draws. A deterministic op that makes an image is part of what the decoded-image cache keeps.
  virtual bool IsRandom() const { return false; }
  // Whether Apply leaves its result in Value::image rather than in Value::data.
  virtual bool MakesImage() const { return true; }

  // Replaces the value, which has the input type of the factory's setup, by one of the type that the factory gave.
  // Thread-safe. Errors are the record's fault and do not name op or column: the caller does.
  virtual absl::Status Apply(OpContext* context, Value* value) const = 0;
};

// What a factory sees.
struct OpSetup {
  const v1::Op* spec = nullptr;
  ValueType input;
  ImageLimits limits = {};
  std::string path;         // "ops[2].random_resized_crop", lives as long as the op
  std::string random_path;  // what the op's draws are named by: its declared name, or its number
  std::string column;
  int depth = 0;  // how many ops it is inside of

  // Where mistakes go: "PATH.FIELD: MESSAGE".
  std::vector<std::string>* errors = nullptr;
  void Error(std::string_view field, std::string_view message) const;
  // As above, for an input of the wrong type.
  void WrongInput(std::string_view wanted) const;
  // The same of an op that works on pictures.
  void WrongInputNoImage() const;
};

// Name of the op that is set, such as "resize"; empty when none is.
std::string OpName(const v1::Op& op);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OP_H_
