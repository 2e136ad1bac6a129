// The features of one record, from programs that have neither protobuf nor a fast CRC.
//
// A sequence of features, each: u16 length of the key, the key, u8 kind, then
//   kind 1..3, values: u8 single (1: a single value, 0: a list), u32 count, and count times
//     1 BYTES   u32 length, the bytes
//     2 FLOAT   f32
//     3 INT64   i64
//   kind 4, an array: u8 type (penstock.v1.DataType), u8 number of axes, u64 for each, and its elements in C order
// All numbers are little-endian.
#ifndef PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_
#define PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/pack/pack_schema.h"

namespace penstock::pack {

// Returns the serialized tf.train.Example of the features. An array becomes one byte string with little-endian
// elements. Adds the record to the schema. Returns InvalidArgument for bytes that are not features, for a duplicate
// key, and for features that the schema rejects. After an error, the schema may have some of the features.
absl::StatusOr<std::string> ExampleOf(std::string_view features, PackSchema* schema);

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_
