// The header of an array in NumPy's .npy format (versions 1.0 to 3.0, numpy/lib/format.py).
#ifndef PENSTOCK_BASE_NPY_HEADER_H_
#define PENSTOCK_BASE_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// A field of a record array.
struct NpyField {
  std::string name;   // UTF-8; empty for padding
  std::string descr;  // NumPy's name of the type: "<f4"; for a nested record, the text of its list of fields
  std::vector<int64_t> shape;

  bool operator==(const NpyField&) const = default;
};

struct NpyHeader {
  std::string descr;  // NumPy's name of the element type: "<f4"; for a record array, the text of its list of fields
  std::vector<NpyField> fields;  // empty unless it is a record array
  bool fortran_order = false;    // column-major order
  std::vector<int64_t> shape;
  uint64_t data_offset = 0;  // offset of the first element in the file

  bool operator==(const NpyHeader&) const = default;
};

// Parses the header at the beginning of `bytes`, which may be untrusted. Returns InvalidArgument if `bytes` do not
// begin with a complete, valid header of at most 64 KiB, such as that of a record array with thousands of fields. Takes
// a small multiple of the header's size.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes);

// Returns a header for elements in row-major order, as NumPy writes it. Its size is a multiple of 64. `descr` is that
// of an NpyHeader.
std::string NpyHeaderText(std::string_view descr, const std::vector<int64_t>& shape);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NPY_HEADER_H_
