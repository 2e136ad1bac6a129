#include "client/assembly/batch_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace penstock::client {
namespace {

constexpr size_t kBatchAlignment = 64;

class PlainAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    return std::aligned_alloc(kBatchAlignment, (bytes + kBatchAlignment - 1) / kBatchAlignment * kBatchAlignment);
  }
  void Deallocate(void* memory, size_t bytes) override { std::free(memory); }
};

}  // namespace

Allocator* DefaultAllocator() {
  static PlainAllocator allocator;
  return &allocator;
}

BatchMemory::BatchMemory(Allocator* allocator, size_t max_free_bytes)
    : allocator_(allocator != nullptr ? allocator : DefaultAllocator()), max_free_bytes_(max_free_bytes) {}

BatchMemory::~BatchMemory() { Close(); }

void BatchMemory::Close() {
  std::multimap<size_t, std::byte*> kept;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    kept.swap(free_);
    free_bytes_ = 0;
  }
  for (const auto& [size, data] : kept) allocator_->Deallocate(data, size);
}

size_t BatchMemory::Rounded(size_t bytes) {
  const size_t step = std::max(kBatchAlignment, std::bit_floor(std::max<size_t>(bytes, 1)) / 8);
  return (std::max<size_t>(bytes, 1) + step - 1) / step * step;
}

BatchMemory::Block BatchMemory::Allocate(size_t bytes) {
  Block block;
  const size_t size = Rounded(bytes);
  {
    MutexLock lock(&mutex_);
    const auto it = free_.find(size);
    if (it != free_.end()) {
      block.data_ = it->second;
      free_bytes_ -= size;
      free_.erase(it);
    }
  }
  if (block.data_ == nullptr) block.data_ = static_cast<std::byte*>(allocator_->Allocate(size));
  if (block.data_ == nullptr) return block;
  block.size_ = size;
  block.pool_ = shared_from_this();
  return block;
}

void BatchMemory::Return(std::byte* data, size_t size) {
  {
    MutexLock lock(&mutex_);
    if (!closed_ && free_bytes_ + size <= max_free_bytes_) {
      free_.emplace(size, data);
      free_bytes_ += size;
      return;
    }
  }
  allocator_->Deallocate(data, size);
}

BatchMemory::Block& BatchMemory::Block::operator=(Block&& other) noexcept {
  if (this != &other) {
    Release();
    pool_ = std::move(other.pool_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void BatchMemory::Block::Release() {
  if (data_ != nullptr) pool_->Return(data_, size_);
  data_ = nullptr;
  pool_.reset();
}

}  // namespace penstock::client
