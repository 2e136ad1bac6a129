// Messages as lists of slices: bytes that lie where they were made, each kept alive by its owner, so that rows travel
// without being copied or joined, whatever carries them.
#ifndef PENSTOCK_TRANSPORT_SLICE_H_
#define PENSTOCK_TRANSPORT_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace penstock {

// Bytes that do not change, and what keeps them. Cheap to copy and to move.
class Slice {
 public:
  Slice() = default;
  // `owner` keeps the bytes alive; the last copy of the slice lets go of it, on whatever thread that is.
  Slice(const void* data, size_t size, std::shared_ptr<const void> owner)
      : data_(static_cast<const uint8_t*>(data)), size_(size), owner_(std::move(owner)) {}
  // Takes the string over.
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

// One message. Where slices begin and end means nothing: whoever receives it may find it cut elsewhere.
class SliceList {
 public:
  SliceList() = default;
  explicit SliceList(std::vector<Slice> slices);

  void Add(Slice slice);
  // Of all slices.
  size_t bytes() const { return bytes_; }
  const std::vector<Slice>& slices() const { return slices_; }
  // All bytes, joined: for small messages.
  std::string Joined() const;

 private:
  std::vector<Slice> slices_;
  size_t bytes_ = 0;
};

// Reads on through a message. Keeps its slices alive; cheap to move. Not thread-safe.
class SliceCursor {
 public:
  SliceCursor() = default;
  explicit SliceCursor(SliceList message);

  // Bytes not yet read.
  size_t remaining() const { return remaining_; }
  // Copies the next n bytes to `out`. False, with nothing read, when fewer remain.
  bool Read(void* out, size_t n);
  bool ReadU32(uint32_t* value);  // little-endian
  // Goes on by n bytes. False, with nothing read, when fewer remain.
  bool Skip(size_t n);
  // The next bytes that lie together, at most `limit` of them, and goes on behind them; empty at the end or when limit
  // is 0. Valid while this cursor lives.
  absl::Span<const uint8_t> Next(size_t limit);

 private:
  void SkipEmpty();

  SliceList message_;
  size_t slice_ = 0;   // slices()[slice_] has bytes left, or is the end
  size_t offset_ = 0;  // into it
  size_t remaining_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SLICE_H_
