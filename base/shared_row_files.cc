#include "base/shared_row_files.h"

#include <iterator>
#include <utility>

#include "base/status_macros.h"

namespace penstock {

// Forgets the file before the memory is unmapped, because another file may be mapped at the same address.
SharedRowFile::~SharedRowFile() { of_->Forget(*this); }

absl::StatusOr<std::shared_ptr<SharedRowFile>> SharedRowFiles::Create(uint64_t bytes) {
  PS_ASSIGN_OR_RETURN(SealedMemory memory,
                      SealedMemory::Create("penstock-kept", bytes, SealedMemory::Others::kRead, "finished rows"));
  MutexLock lock(&mutex_);
  std::shared_ptr<SharedRowFile> file(new SharedRowFile(shared_from_this(), ++made_, std::move(memory)));
  files_[reinterpret_cast<uintptr_t>(file->data())] = file;
  return file;
}

std::shared_ptr<const SharedRowFile> SharedRowFiles::FileOf(const void* data, size_t size) const {
  const auto at = reinterpret_cast<uintptr_t>(data);
  std::shared_ptr<const SharedRowFile> file;  // may be the last reference: release it outside the lock
  {
    MutexLock lock(&mutex_);
    const auto next = files_.upper_bound(at);
    if (next != files_.begin()) file = std::prev(next)->second.lock();
  }
  if (file == nullptr) return nullptr;
  const uint64_t from = at - reinterpret_cast<uintptr_t>(file->data());
  return from <= file->size() && size <= file->size() - from ? file : nullptr;
}

void SharedRowFiles::Forget(const SharedRowFile& file) {
  MutexLock lock(&mutex_);
  files_.erase(reinterpret_cast<uintptr_t>(file.data()));
}

}  // namespace penstock
