// The features of one record, as a program that has neither protobuf nor a fast CRC hands them in.
//
// A run of features, each: u16 length of the key, the key, u8 kind, then
//   kind 1..3, values: u8 single (1: one value by nature, 0: a list that may have one), u32 count, and count times
//     1 BYTES   u32 length, the bytes
//     2 FLOAT   f32
//     3 INT64   i64
//   kind 4, an array: u8 type (penstock.v1.DataType), u8 number of axes, u64 for each, and its elements in C order
// All little-endian.
#ifndef PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_
#define PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/pack/pack_schema.h"

namespace penstock {

// The serialized tf.train.Example of the features; an array is one byte string, its elements little-endian. The schema
// has seen the record then. InvalidArgument: bytes that are no features; a key twice; what the schema refuses.
absl::StatusOr<std::string> ExampleOf(std::string_view features, PackSchema* schema);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PACK_PACKED_FEATURES_H_
