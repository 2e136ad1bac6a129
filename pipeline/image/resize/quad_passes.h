// The two passes of the resize on CPUs that multiply and add up four bytes in one instruction and look up any of 128
// bytes in another (AVX-512 with VNNI and VBMI: Ice Lake, Zen 4 and later). The bytes are those of the scalar passes
// (resize_passes.h), which a test holds them to.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_PASSES_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_PASSES_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/quad_table.h"
#include "pipeline/image/resize/resize_passes.h"

namespace penstock {

// Whether this CPU has them, and the system saves their registers. Where not, the passes below must not be called.
bool HasQuadPasses();

// As HorizontalPass. `source` has rows as wide as the columns were built for; height rows of columns.values bytes are
// written, nothing between them. What lies `ahead` bytes behind each row is fetched meanwhile, whether it is there or
// not.
void HorizontalQuads(const QuadColumns& columns, const ImageView& source, size_t ahead, uint8_t* out, size_t stride);

// Rows of the vertical pass have at least this many bytes.
constexpr size_t kQuadRowBytes = 64;

// As VerticalPass.
void VerticalQuads(const FilterTable& table, const QuadTable& quads, OutputRange range, const ImageView& source,
                   int first, uint8_t* out, size_t stride);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_QUAD_PASSES_H_
