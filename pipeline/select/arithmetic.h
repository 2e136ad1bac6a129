// Comparison and arithmetic of values. Internal to select/.
#ifndef PENSTOCK_PIPELINE_SELECT_ARITHMETIC_H_
#define PENSTOCK_PIPELINE_SELECT_ARITHMETIC_H_

#include <compare>

#include "absl/status/statusor.h"
#include "pipeline/select/node.h"
#include "pipeline/select/value.h"

namespace penstock::select {

// Compares two present numbers, or two present strings bytewise. The result is mathematically exact, also for an INT64
// and a DOUBLE. NaN is unordered.
std::partial_ordering Compare(const Value& a, const Value& b);

// Returns whether the result of Compare() satisfies a comparison operator. Unordered values satisfy none, not even !=.
bool Satisfies(std::partial_ordering ordering, Operator op);

// Applies + - * / // or % to two numbers. Returns a missing value if one of them is missing.
//   Two INT64 give an INT64, except that / converts both to DOUBLE first. Otherwise both become DOUBLE.
//   // and % round toward negative infinity, as in Python.
//   InvalidArgument  the INT64 result overflows, or the divisor is 0; the message has the operands
absl::StatusOr<Value> Calculate(const Value& a, Operator op, const Value& b);

// Returns -a. Errors are those of Calculate().
absl::StatusOr<Value> Negate(const Value& a);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_ARITHMETIC_H_
