// The features of one record, from programs that have neither protobuf nor a fast CRC.
//
// A sequence of features, each: u16 length of the key, the key, u8 kind, then
//   kind 1..3, values: u8 single (1: a single value, 0: a list), u32 count, and count times
//     1 BYTES   u32 length, the bytes
//     2 FLOAT   f32
//     3 INT64   i64
//   kind 4, an array: u8 type (penstock.v1.DataType), u8 number of axes (0: a scalar), u64 for each, and its elements
//     in C order
// All numbers are little-endian.
#ifndef PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_
#define PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/pack/pack_schema.h"

namespace penstock::pack {

// Keys and kinds of a record's features. The texts are parts of the features' bytes.
using PackedValues = std::vector<std::pair<std::string_view, PackedValue>>;

// Returns the serialized tf.train.Example of the features, and replaces *values with their kinds. An array becomes one
// byte string with little-endian elements. Returns InvalidArgument for bytes that are not features, and for a duplicate
// key.
absl::StatusOr<std::string> ExampleOf(std::string_view features, PackedValues* values);

// Does the same, and adds the record to the schema. Returns InvalidArgument also for features that the schema rejects.
// After an error, the schema may have some of the features.
absl::StatusOr<std::string> ExampleOf(std::string_view features, PackSchema* schema);

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_
