// What a PNG's encoder did to each row so that it compresses better, undone. Pure. Source: PNG specification, 9.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_FILTER_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_FILTER_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

constexpr uint8_t kPngFilters = 5;  // none, Sub, Up, Average, Paeth
// Bytes behind a row's end that may be read and written.
constexpr size_t kPngFilterMargin = 16;

// `count` bytes of a row, filtered by `filter` (0 to 4), to `row`; `above` is the row above without its filter, of the
// first row zeros. A byte was filtered by the one `step` (1, 2, 3, 4, 6, 8) before it. All three have a margin.
void UndoPngFilter(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                   uint8_t* row);

// Two rows, which begin with the numbers of their filters: `upper` to `row`, and `lower`, the next one, to `below`.
// Where both are of the kind that photographs mostly have this is faster than one after the other.
void UndoPngFilters(size_t step, const uint8_t* upper, const uint8_t* lower, const uint8_t* above, size_t count,
                    uint8_t* row, uint8_t* below);

// As UndoPngFilter, one byte after the other, without margins.
void UndoPngFilterScalar(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                         uint8_t* row);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_FILTER_H_
