// A filter that makes rows easier to compress, and its inverse.
#ifndef PENSTOCK_PIPELINE_BATCH_ROW_FILTER_H_
#define PENSTOCK_PIPELINE_BATCH_ROW_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/batch/row.h"

namespace penstock::batch {

// Filters the FIXED columns of one schema's rows. A uint8 column with two dimensions or more counts as an image. Each
// of its lines except the first becomes the difference to the line above (the PNG specification's filter type Up,
// modulo 256). With three dimensions or more, a last dimension of at most 4 holds the channels. If it is 3, red and
// blue also become their difference to green (lossless WebP's subtract green). All other columns stay unchanged. The
// filter is exact for any bytes. Stateless and thread-safe.
class RowFilter {
 public:
  explicit RowFilter(const RowSchema& schema);

  // Returns the bytes of all FIXED columns.
  size_t fixed_bytes() const { return fixed_bytes_; }
  // Writes the filtered form of the fixed_bytes() bytes at `fixed` to `out`, which has the same length and must not
  // overlap.
  void Apply(const uint8_t* fixed, uint8_t* out) const;
  // Reverses the filter in place.
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

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_FILTER_H_
