// Rows made easier to compress, and back.
#ifndef PENSTOCK_PIPELINE_BATCH_ROW_FILTER_H_
#define PENSTOCK_PIPELINE_BATCH_ROW_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/batch/row.h"

namespace penstock {

// Of the FIXED columns of one schema's rows. A column of 8-bit numbers with two dimensions or more is taken for an
// image: each line becomes its difference to the line above (the PNG specification's filter type Up, modulo 256), and,
// where the last dimension is 3, red and blue their difference to green (what lossless WebP calls subtract green). All
// other columns stay as they are. Exact for any bytes. Stateless, so for any thread.
class RowFilter {
 public:
  explicit RowFilter(const RowSchema& schema);

  // Of all FIXED columns.
  size_t fixed_bytes() const { return fixed_bytes_; }
  // Writes the filtered form of the fixed_bytes() bytes at `fixed` to `out`, which is as long and lies elsewhere.
  void Apply(const uint8_t* fixed, uint8_t* out) const;
  // The way back, in place.
  void Undo(uint8_t* fixed) const;

 private:
  struct Part {
    size_t bytes = 0;
    size_t line = 0;  // bytes; 0: not an image
    bool color = false;
  };

  std::vector<Part> parts_;
  size_t fixed_bytes_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_FILTER_H_
