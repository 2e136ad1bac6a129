// Reverses the filters that a PNG encoder applied to rows for better compression. Pure. Source: PNG specification, 9.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_PNG_FILTER_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_PNG_FILTER_H_

#include <cstddef>
#include <cstdint>

namespace penstock::image {

constexpr uint8_t kPngFilters = 5;  // none, Sub, Up, Average, Paeth
// Bytes after a row's end that may be read and written.
constexpr size_t kPngFilterMargin = 16;

// Reverses `filter` (0 to 4) on `count` bytes of a row and writes them to `row`. `above` is the unfiltered row above;
// for the first row it is zeros. Filters compare a byte with the one `step` (1, 2, 3, 4, 6 or 8) bytes before it. All
// three rows need a margin.
void UndoPngFilter(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                   uint8_t* row);

// Reverses the filters of two rows that begin with their filter numbers: `upper` to `row`, and the next one, `lower`,
// to `below`. `count` is a positive multiple of `step` if `step` is 3 or more. If both rows have the filter Paeth,
// which is the most common one in photographs, this is faster than one row after the other.
void UndoPngFilters(size_t step, const uint8_t* upper, const uint8_t* lower, const uint8_t* above, size_t count,
                    uint8_t* row, uint8_t* below);

// Like UndoPngFilter, but byte by byte and without margins.
void UndoPngFilterScalar(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                         uint8_t* row);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_PNG_FILTER_H_
