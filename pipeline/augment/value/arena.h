// Buffers of one row, reused for the next.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_ARENA_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace penstock {

// Hands out buffers in order and releases all of them at once. The n-th buffer of every row uses the n-th block, so
// that rows of one pipeline soon allocate nothing. Not thread-safe.
class Arena {
 public:
  // Returns an uninitialized buffer of at least `bytes` (plus 64 of slack), valid until Reset.
  uint8_t* Acquire(size_t bytes) {
    if (used_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[used_++];
    if (block.size < bytes + kSlack) {
      block.memory.reset();  // freed before the new block is allocated
      block.memory = std::make_unique_for_overwrite<uint8_t[]>(bytes + kSlack);
      block.size = bytes + kSlack;
    }
    return block.memory.get();
  }

  // Releases all buffers. Keeps blocks of up to `keep` bytes in total and frees the others.
  void Reset(size_t keep) {
    used_ = 0;
    size_t held = 0;
    for (Block& block : blocks_) {
      if (held + block.size > keep) block = {};
      held += block.size;
    }
  }

  size_t held_bytes() const {
    size_t held = 0;
    for (const Block& block : blocks_) held += block.size;
    return held;
  }

  static constexpr size_t kSlack = 64;

 private:
  struct Block {
    std::unique_ptr<uint8_t[]> memory;
    size_t size = 0;
  };
  std::vector<Block> blocks_;
  size_t used_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_ARENA_H_
