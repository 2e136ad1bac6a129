// Changing single features of a serialized tf.train.Example or SequenceExample; all other bytes stay as they are.
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PATCH_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PATCH_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace penstock {

// A feature's new value: one byte string or one integer.
struct FeaturePatch {
  std::string_view key;
  std::variant<std::string_view, int64_t> value;
  bool add = false;  // where the record has no such key: add it, rather than leave it out
};

// Writes `record` to *out (replaced) with the features of the Example, or of the SequenceExample's context, changed.
// Each key appears once in the result, at the place of its last occurrence; unknown fields and the features that no
// patch names keep their bytes. InvalidArgument when the record is malformed.
absl::Status PatchExample(std::string_view record, std::span<const FeaturePatch> patches, std::string* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PATCH_H_
