// Memory for the bytes of one record after another.
#ifndef PENSTOCK_PIPELINE_SOURCES_RECORD_BUFFER_H_
#define PENSTOCK_PIPELINE_SOURCES_RECORD_BUFFER_H_

#include <cstddef>
#include <memory>

namespace penstock::sources {

// The memory into which one thread reads records. The thread keeps it from record to record.
class RecordBuffer {
 public:
  // Returns at least `bytes` bytes with unspecified content. Invalidates the bytes of earlier calls.
  char* Get(size_t bytes) {
    if (bytes > capacity_) {
      block_.reset();
      capacity_ = bytes + bytes / 4;  // the next one is often a little larger
      block_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    return block_.get();
  }
  size_t capacity() const { return capacity_; }
  void Clear() {
    block_.reset();
    capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> block_;
  size_t capacity_ = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_RECORD_BUFFER_H_
