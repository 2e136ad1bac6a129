// The two passes of the resize on CPUs with AVX-512, VNNI and VBMI (Ice Lake, Zen 4 and later). One of their
// instructions multiplies and adds four bytes, and another looks up any of 128 bytes. The bytes equal those of the
// scalar passes (resize_passes.h), which a test verifies.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_PASSES_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_PASSES_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/quad_table.h"
#include "pipeline/image/resize/resize_passes.h"

namespace penstock::image {

// Returns whether this CPU has these instructions and the system saves their registers. If not, the passes below must
// not be called.
bool HasQuadPasses();

// Filters rows like HorizontalPass. The rows of `source` must be as wide as `columns` was built for. Writes
// source.height rows of columns.values bytes and nothing between them. Prefetches the data `ahead` bytes after each
// row; it need not exist.
void HorizontalQuads(const QuadColumns& columns, const ImageView& source, size_t ahead, uint8_t* out, size_t stride);

// The minimum bytes of a row of the vertical pass.
constexpr size_t kQuadRowBytes = 64;

// Filters columns like VerticalPass.
void VerticalQuads(const FilterTable& table, const QuadTable& quads, OutputRange range, const ImageView& source,
                   int first, uint8_t* out, size_t stride);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_PASSES_H_
