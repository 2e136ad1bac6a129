// The function hash(x) of expressions.
#ifndef PENSTOCK_PIPELINE_SELECT_VALUE_HASH_H_
#define PENSTOCK_PIPELINE_SELECT_VALUE_HASH_H_

#include <cstdint>

#include "pipeline/select/value.h"

namespace penstock::select {

// Returns the hash of a present INT64, DOUBLE or STRING: at least 0 and less than 2^63. It is the same in every release
// and on every machine, because selections depend on it.
//
// The hash is XXH3_64bits without a seed and without its highest bit. Its input is the bytes of a STRING, and the 8
// little-endian bytes of a number: two's complement for INT64, IEEE 754 for DOUBLE. -0.0 is hashed as 0.0, and each NaN
// as the bits 0x7ff8000000000000.
int64_t HashValue(const Value& value);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_VALUE_HASH_H_
