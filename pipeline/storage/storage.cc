#include "pipeline/storage/storage.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::storage {

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

absl::StatusOr<std::string> ReadContent(Storage* storage, const std::string& name, uint64_t most) {
  if (storage->IsLocal(name)) return ReadWholeFile(name, most);
  PS_ASSIGN_OR_RETURN(const auto file, storage->OpenAndWait(name));
  if (file->opened().size > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, " has ", file->opened().size, " bytes; at most ", most, " are read"));
  }
  std::string content(file->opened().size, '\0');
  PS_ASSIGN_OR_RETURN(const size_t size, file->ReadAt(0, content.size(), content.data()));
  content.resize(size);
  return content;
}

}  // namespace penstock::storage
