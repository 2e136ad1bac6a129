#include "pipeline/storage/storage.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock {

void StoredFile::ReadParts(uint64_t offset, std::vector<ReadPart> parts, const CallOptions& options,
                           CallDone<size_t> done) const {
  size_t length = 0;
  for (const ReadPart& part : parts) length += part.bytes;
  auto whole = std::make_unique_for_overwrite<char[]>(length);
  char* const out = whole.get();
  Read(
      offset, length, out, options,
      [whole = std::move(whole), parts = std::move(parts), done = std::move(done)](absl::StatusOr<size_t> got) mutable {
        size_t at = 0;
        for (const ReadPart& part : parts) {
          const size_t came = got.ok() ? std::min(part.bytes, *got - std::min(at, *got)) : 0;
          if (part.out != nullptr && came > 0) std::memcpy(part.out, whole.get() + at, came);
          at += part.bytes;
        }
        std::move(done)(std::move(got));
      });
}

absl::StatusOr<std::unique_ptr<StoredFile>> Storage::OpenAndWait(const std::string& name, const CallOptions& options) {
  return WaitForCall<std::unique_ptr<StoredFile>>(
      [&](CallDone<std::unique_ptr<StoredFile>> done) { Open(name, options, std::move(done)); });
}

absl::StatusOr<StoredName> Storage::StatAndWait(const std::string& name, const CallOptions& options) {
  return WaitForCall<StoredName>([&](CallDone<StoredName> done) { Stat(name, options, std::move(done)); });
}

absl::StatusOr<std::vector<StoredEntry>> Storage::ListAndWait(const std::string& folder, const CallOptions& options) {
  return WaitForCall<std::vector<StoredEntry>>(
      [&](CallDone<std::vector<StoredEntry>> done) { List(folder, options, std::move(done)); });
}

}  // namespace penstock
