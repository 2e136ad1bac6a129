// Memory for the bytes of a range, of which parts can be given back to the system one by one.
#ifndef PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_BUFFER_H_
#define PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_BUFFER_H_

#include <cstddef>
#include <cstdint>

namespace penstock {

// Whole pages. Calls for unlike parts may come on several threads at once.
class RangeBuffer {
 public:
  // What a buffer of that many bytes takes.
  static uint64_t Takes(uint64_t bytes);

  explicit RangeBuffer(uint64_t bytes);
  ~RangeBuffer();
  RangeBuffer(const RangeBuffer&) = delete;
  RangeBuffer& operator=(const RangeBuffer&) = delete;

  char* data() const { return data_; }  // null: the system has no memory
  // What Free of this part gives back: its pages that no other part has bytes in.
  static uint64_t Frees(uint64_t offset, uint64_t bytes);
  void Free(uint64_t offset, uint64_t bytes);

 private:
  char* data_ = nullptr;
  const uint64_t bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_BUFFER_H_
