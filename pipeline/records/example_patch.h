// Changes single features of a serialized tf.train.Example or SequenceExample. All other bytes stay unchanged.
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PATCH_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PATCH_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace penstock::records {

// A feature's new value: one byte string or one integer.
struct FeaturePatch {
  std::string_view key;
  std::variant<std::string_view, int64_t> value;
  bool add = false;  // whether to add the key if the record lacks it; otherwise the patch is skipped
};

// Sets *out to `record` with patched features in the Example or in the SequenceExample's context. The patches must have
// different keys. Each patched key appears once in the result, at the place of its last occurrence. An added key is the
// last feature. Unknown fields and features without a patch keep their bytes. Returns InvalidArgument if the record is
// malformed.
absl::Status PatchExample(std::string_view record, std::span<const FeaturePatch> patches, std::string* out);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PATCH_H_
