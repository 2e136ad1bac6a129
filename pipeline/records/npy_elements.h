// The elements of NumPy arrays as the values of features, in members of samples and in rows of arrays.
//
// Values by kind:
//   FLOAT   from float16, float32 and float64, which is rounded
//   INT64   from integers, bool, datetime64 and timedelta64 (a number of their units)
//   BYTES   from S and U without decode_raw: a value for each element, without zeros at its end; U as UTF-8
//           otherwise: one value, the bytes of all elements
#ifndef PENSTOCK_PIPELINE_RECORDS_NPY_ELEMENTS_H_
#define PENSTOCK_PIPELINE_RECORDS_NPY_ELEMENTS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/npy_row.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/value_budget.h"

namespace penstock::records {

// The elements of an array, in row-major order.
struct NpyElements {
  NpyType type;
  uint64_t count = 0;
  std::string_view data;  // count * type.bytes bytes

  // Returns the kind that keeps the values best.
  FeatureKind kind() const;
};

// Parses a whole .npy file. Returns InvalidArgument with the remedy: the errors of ParseNpyHeader() and ParseNpyType(),
// Fortran order, and a number of bytes that is not that of the header.
absl::StatusOr<NpyElements> ParseNpyElements(std::string_view file);

// Adds the elements to *out as values of the requested kind. BYTES point into the data, except for U. Returns
// InvalidArgument with the key if the elements cannot have this kind, for an integer over 2^63 - 1 and for U that is no
// Unicode; the error of CheckElements(); and ResourceExhausted if the values exceed the budget.
absl::Status ReadElements(const FeatureRequest& request, const NpyElements& elements, ValueBudget* budget,
                          FeatureValue* out);

// Sets the kind of the elements, their number and their range, for display. A kind other than BYTES needs that all
// elements can be read as this kind.
void DescribeElements(const NpyElements& elements, FeatureInfo* info);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_NPY_ELEMENTS_H_
