// The layout of a row of a NumPy array: its bytes, and the fields in them.
#ifndef PENSTOCK_BASE_NPY_ROW_H_
#define PENSTOCK_BASE_NPY_ROW_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/npy_header.h"

namespace penstock {

// The type of an element. Its bytes are little-endian.
struct NpyType {
  // NumPy's letter: b (bool), i, u, f (float), c (complex), M and m (time), S (bytes), U (text of UTF-32), V (any).
  char letter = '\0';
  uint64_t bytes = 0;  // the size of an element

  bool operator==(const NpyType&) const = default;
};

// Parses the name of a type, such as "<f4". Returns InvalidArgument with the remedy for Python objects, big-endian
// numbers and names that are no type.
absl::StatusOr<NpyType> ParseNpyType(std::string_view descr);

// A field of a row, or a whole row without fields.
struct NpyRowField {
  std::string name;   // "" for a row without fields
  std::string descr;  // as in the header
  NpyType type;
  std::vector<int64_t> shape;
  uint64_t offset = 0;    // its first element in the row
  uint64_t elements = 0;  // number of elements

  uint64_t bytes() const { return elements * type.bytes; }
};

struct NpyRow {
  std::vector<NpyRowField> fields;  // without padding, in their order
  uint64_t bytes = 0;
};

// Returns the layout of rows of this shape, in an array with this header. Returns InvalidArgument with the remedy: the
// errors of ParseNpyType(), nested records, record arrays of several dimensions, and rows without bytes or of more than
// 2^40.
absl::StatusOr<NpyRow> NpyRowOf(const NpyHeader& header, const std::vector<int64_t>& row_shape);

// The shape in the header of a record that has any number of elements after it, such as a document of tokens.
inline const std::vector<int64_t> kAnyLength = {0};
inline bool HasAnyLength(const NpyHeader& header) { return header.fields.empty() && header.shape == kAnyLength; }

}  // namespace penstock

#endif  // PENSTOCK_BASE_NPY_ROW_H_
