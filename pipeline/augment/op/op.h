// An op of a pipeline changes a column's value in one row. docs/dev/add-op.md describes how to add one.
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
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/augment/value/value.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// The inputs of an op besides its value. Lives as long as one op runs on one row.
struct OpContext {
  // Null in a dry run, like `damaged`.
  ImageTools* tools = nullptr;
  // The op's own draws for this sample. They do not depend on the ops that ran before it.
  SampleRandom random{0, 0, 0};
  // The key of `random`, for ops that contain others.
  SampleKey key;
  // The memory for the column's final tensor, which only its last op receives. If null, the op allocates from the
  // arena.
  uint8_t* target = nullptr;
  // Whether damage fails the row even if the op is lenient.
  bool strict = false;
  // Set to true when a lenient op encounters damage.
  bool* damaged = nullptr;
  // Not null in a dry run, which decodes, draws and writes nothing. Apply then sets the value that needs the most
  // memory, and adds the bytes that it would allocate to *dry_bytes.
  size_t* dry_bytes = nullptr;
  // The boxes and masks of this column's image, or null.
  Followers* followers = nullptr;

  bool dry() const { return dry_bytes != nullptr; }
  // Returns memory for a tensor, from the target or the arena. In a dry run, counts the bytes and returns null.
  uint8_t* Output(size_t bytes);
  // Ensures that the pixels of `image` are in memory. In a dry run, counts their bytes.
  absl::Status Realize(LazyImage* image);
  // Reports a move to boxes and masks. Every op that moves an image's pixels must call it once per move. In a dry run,
  // the op reports the move that needs the most memory.
  void Moved(const ImageMove& move);
};

class Op {
 public:
  virtual ~Op() = default;

  // Returns whether the op draws. An op that draws ends the prefix that the decoded-image cache stores (pipeline.h).
  virtual bool IsRandom() const { return false; }
  // Returns whether Apply stores its result in Value::image rather than in Value::data.
  virtual bool MakesImage() const { return true; }

  // Replaces the value, which has the input type of the factory's setup, with one of the type that the factory
  // returned. Thread-safe. Errors describe invalid records. They do not name the op or the column; the caller adds
  // both.
  virtual absl::Status Apply(OpContext* context, Value* value) const = 0;
};

// The input of a factory.
struct OpSetup {
  const v1::Op* spec = nullptr;
  ValueType input;
  ImageLimits limits = {};
  bool whole_images = false;  // errors { check: WHOLE_IMAGE }
  bool is_mask = false;       // the column is one of annotations.masks
  // The element types of the masks that follow the column's image. Null if they are unknown because of a mistake in the
  // annotations.
  const std::vector<DType>* masks = nullptr;
  std::string path;         // "ops[2].random_resized_crop"
  std::string random_path;  // names the op's draws: its declared name, or its number
  std::string column;
  int depth = 0;  // number of ops around it

  // Receives the mistakes as "PATH.FIELD: MESSAGE".
  std::vector<std::string>* errors = nullptr;
  void Error(std::string_view field, std::string_view message) const;
  // Reports an input of the wrong type. `wanted` names the accepted types.
  void WrongInput(std::string_view wanted) const;
  // Reports an input that is not an image to an op that needs one.
  void WrongInputNoImage() const;
};

// Returns the name of the op that is set, such as "resize", or "" if none is.
std::string OpName(const v1::Op& op);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_OP_H_
