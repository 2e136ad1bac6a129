// Hashes of the values of expressions. Selections depend on them, so they are the same in every release and on every
// machine.
#ifndef PENSTOCK_PIPELINE_SELECT_VALUE_HASH_H_
#define PENSTOCK_PIPELINE_SELECT_VALUE_HASH_H_

#include <cstdint>

#include "pipeline/select/value.h"

namespace penstock::select {

// Returns the hash of a present INT64, DOUBLE or STRING.
//
// The hash is XXH3_64bits with the seed. Its input is the bytes of a STRING, and the 8 little-endian bytes of a number:
// two's complement for INT64, IEEE 754 for DOUBLE. -0.0 is hashed as 0.0, and each NaN as the bits 0x7ff8000000000000.
uint64_t HashWithSeed(const Value& value, uint64_t seed);

// Returns the function hash(x) of expressions: HashWithSeed(value, 0) without its highest bit.
int64_t HashValue(const Value& value);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_VALUE_HASH_H_
