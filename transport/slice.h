// Messages as lists of slices: bytes at their original place, each slice with its owner. Any carrier can thus send rows
// without copying or joining them.
#ifndef PENSTOCK_TRANSPORT_SLICE_H_
#define PENSTOCK_TRANSPORT_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace penstock::transport {

// Immutable bytes and their owner, which may be null. Cheap to copy and to move.
class Slice {
 public:
  Slice() = default;
  // `owner` keeps the bytes alive. The last copy of the slice releases it, on any thread.
  Slice(const void* data, size_t size, std::shared_ptr<const void> owner)
      : data_(static_cast<const uint8_t*>(data)), size_(size), owner_(std::move(owner)) {}
  // Returns a slice that owns `bytes`.
  static Slice Of(std::string bytes);

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  absl::Span<const uint8_t> span() const { return {data_, size_}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

// One message. The boundaries of its slices carry no meaning: the receiver may see others.
class SliceList {
 public:
  SliceList() = default;
  explicit SliceList(std::vector<Slice> slices);

  void Add(Slice slice);
  // Returns the total size of all slices.
  size_t bytes() const { return bytes_; }
  const std::vector<Slice>& slices() const { return slices_; }
  // Returns a copy of all bytes, joined. For small messages.
  std::string Joined() const;

 private:
  std::vector<Slice> slices_;
  size_t bytes_ = 0;
};

// Reads a message sequentially. Keeps its slices alive. Cheap to move. Not thread-safe.
class SliceCursor {
 public:
  SliceCursor() = default;
  explicit SliceCursor(SliceList message);

  // Returns the number of unread bytes.
  size_t remaining() const { return remaining_; }
  // Copies the next n bytes to `out`. Returns false, and reads nothing, if fewer remain.
  bool Read(void* out, size_t n);
  bool ReadU32(uint32_t* value);  // little-endian
  // Skips n bytes. Returns false, and skips nothing, if fewer remain.
  bool Skip(size_t n);
  // Returns the next contiguous bytes, at most `limit`, and advances past them. Returns an empty span at the end or if
  // `limit` is 0. The span is valid while this cursor lives.
  absl::Span<const uint8_t> Next(size_t limit);

 private:
  void SkipEmpty();

  SliceList message_;
  size_t slice_ = 0;   // slices()[slice_] has unread bytes, unless it is the end
  size_t offset_ = 0;  // into that slice
  size_t remaining_ = 0;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SLICE_H_
