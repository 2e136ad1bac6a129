// Parses the header of an array in NumPy's .npy format (versions 1.0 to 3.0, numpy/lib/format.py).
#ifndef PENSTOCK_BASE_NPY_HEADER_H_
#define PENSTOCK_BASE_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

struct NpyHeader {
  std::string descr;           // NumPy's name of the element type: "<f4"
  bool fortran_order = false;  // column-major order
  std::vector<int64_t> shape;
  uint64_t data_offset = 0;  // offset of the first element in the file

  bool operator==(const NpyHeader&) const = default;
};

// Parses the header at the beginning of `bytes`; 64 KiB suffice for every header that NumPy writes. InvalidArgument: no
// .npy file, or a header that NumPy does not write. Safe for untrusted bytes.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_BASE_NPY_HEADER_H_
