// Resizes buffers whose memory is booked.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_EXACT_BUFFER_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_EXACT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::image {

// Resizes `buffer` to `size` bytes and drops its content. If it must grow, it allocates exactly `size` bytes, whereas
// vector::resize may allocate twice its old size. Releases the old memory first.
inline void ResizeExactly(std::vector<uint8_t>* buffer, size_t size) {
  if (buffer->capacity() < size) std::vector<uint8_t>().swap(*buffer);
  buffer->resize(size);
}

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_EXACT_BUFFER_H_
