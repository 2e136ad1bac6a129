// A block that refers to a cached row instead of a copy of it.
#ifndef PENSTOCK_PIPELINE_LOADER_BORROWED_ROW_H_
#define PENSTOCK_PIPELINE_LOADER_BORROWED_ROW_H_

#include <memory>
#include <utility>

#include "base/block_memory.h"
#include "pipeline/cache/row_cache.h"

namespace penstock::loader {

class BorrowedRow final : public BlockMemory {
 public:
  // Returns a block of the row's bytes. The caller must not write to it. Freeing the block releases the row.
  static OwnedBlock Block(std::shared_ptr<const cache::CachedRow> row) {
    const std::string_view bytes = row->bytes;
    auto* const data = reinterpret_cast<std::byte*>(const_cast<char*>(bytes.data()));
    return OwnedBlock(data, FreeBlock(std::make_shared<BorrowedRow>(std::move(row)), bytes.size()));
  }

  explicit BorrowedRow(std::shared_ptr<const cache::CachedRow> row) : row_(std::move(row)) {}
  std::byte* Allocate(size_t) override { return nullptr; }
  void Deallocate(std::byte*, size_t) override { row_ = nullptr; }
  uint64_t bytes_for_blocks() const override { return 0; }

 private:
  std::shared_ptr<const cache::CachedRow> row_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_BORROWED_ROW_H_
