// Folders in a bucket.
#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/import/image_start.h"
#include "pipeline/import/source_folders.h"
#include "pipeline/storage/run_calls.h"

namespace penstock::imports {
namespace {

constexpr size_t kListings = 16, kQuestions = 64;  // maximum numbers of calls in flight
constexpr size_t kStart = 12;                      // bytes that identify an image
// Number of files whose content HasImage() checks.
constexpr size_t kLookedAt = 64;

bool IsCalledAsImages(const std::string& name) {
  for (const char* end : {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif"}) {
    if (absl::EndsWithIgnoreCase(name, end)) return true;
  }
  return false;
}

class ObjectFolders final : public SourceFolders {
 public:
  explicit ObjectFolders(storage::Storage* storage) : storage_(storage) {}

  absl::StatusOr<Listing> List(const std::string& folder) override {
    PS_ASSIGN_OR_RETURN(std::vector<storage::StoredEntry> entries, storage_->ListAndWait(folder));
    if (entries.empty()) return absl::NotFoundError(absl::StrCat("there is nothing in ", folder));
    return Sorted(std::move(entries));
  }

  size_t at_once() const override { return kListings; }

  absl::StatusOr<std::vector<std::vector<FoundFile>>> FilesBelow(const std::vector<std::string>& folders) override {
    std::vector<std::vector<FoundFile>> all(folders.size());
    // Proceeds level by level, and lists all folders of a level concurrently.
    struct Asked {
      size_t of;          // index in `folders`
      std::string below;  // "", or "sub/"
    };
    std::vector<Asked> level;
    for (size_t i = 0; i < folders.size(); ++i) level.push_back({i, ""});
    for (int depth = 0; !level.empty(); ++depth) {
      if (depth > kMaxFolderDepth) {
        return absl::InvalidArgumentError(absl::StrCat(folders[level[0].of], "/", level[0].below,
                                                       ": folders are nested more than ", kMaxFolderDepth, " deep"));
      }
      std::vector<absl::StatusOr<std::vector<storage::StoredEntry>>> listed(level.size(), absl::CancelledError(""));
      storage::RunCalls(level.size(), kListings, [&](size_t i, absl::AnyInvocable<void() &&> ended) {
        const std::string folder = absl::StrCat(folders[level[i].of], "/", level[i].below);
        storage_->List(
            folder, {},
            [&listed, i, ended = std::move(ended)](absl::StatusOr<std::vector<storage::StoredEntry>> got) mutable {
              listed[i] = std::move(got);
              std::move(ended)();
            });
      });
      std::vector<Asked> next;
      for (size_t i = 0; i < level.size(); ++i) {
        PS_RETURN_IF_ERROR(listed[i].status());
        Listing listing = Sorted(*std::move(listed[i]));
        std::vector<FoundFile>& files = all[level[i].of];
        for (FoundFile& file : listing.files) {
          files.push_back({absl::StrCat(level[i].below, file.name), std::move(file.info)});
        }
        for (const std::string& name : listing.folders) {
          next.push_back({level[i].of, absl::StrCat(level[i].below, name, "/")});
        }
      }
      level = std::move(next);
    }
    for (std::vector<FoundFile>& files : all) Sort(&files);
    return all;
  }

  std::vector<bool> MayBeImages(const std::string& folder, const std::vector<FoundFile>& files) override {
    std::vector<std::string> names;
    std::vector<absl::StatusOr<FileInfo>> states;
    for (const FoundFile& file : files) {
      names.push_back(absl::StrCat(folder, "/", file.name));
      states.emplace_back(file.info);
    }
    return MayBeImageObjects(storage_, names, states);
  }

  bool HasImage(const std::string& folder, const std::vector<FoundFile>& files) override {
    if (std::any_of(files.begin(), files.end(), [](const FoundFile& file) { return IsCalledAsImages(file.name); })) {
      return true;
    }
    const auto some = static_cast<std::ptrdiff_t>(std::min(files.size(), kLookedAt));
    const std::vector<bool> may = MayBeImages(folder, {files.begin(), files.begin() + some});
    return std::any_of(may.begin(), may.end(), [](bool is) { return is; });
  }

 private:
  static void Sort(std::vector<FoundFile>* files) {
    std::sort(files->begin(), files->end(), [](const FoundFile& a, const FoundFile& b) { return a.name < b.name; });
  }

  static Listing Sorted(std::vector<storage::StoredEntry> entries) {
    Listing listing;
    for (storage::StoredEntry& entry : entries) {
      if (entry.name[0] == '.') continue;
      if (entry.kind == storage::StoredEntry::Kind::kFolder) {
        listing.folders.push_back(std::move(entry.name));
      } else {
        listing.files.push_back({std::move(entry.name), entry.info.value_or(FileInfo())});
      }
    }
    std::sort(listing.folders.begin(), listing.folders.end());
    Sort(&listing.files);
    return listing;
  }

  storage::Storage* const storage_;
};

}  // namespace

std::unique_ptr<SourceFolders> SourceFolders::OfObjects(storage::Storage* storage) {
  return std::make_unique<ObjectFolders>(storage);
}

std::vector<absl::StatusOr<FileInfo>> StatesOf(storage::Storage* storage, const std::vector<std::string>& names) {
  std::vector<absl::StatusOr<FileInfo>> states(names.size(), absl::CancelledError(""));
  storage::RunCalls(names.size(), kQuestions, [&](size_t i, absl::AnyInvocable<void() &&> ended) {
    storage->Stat(names[i], {}, [&, i, ended = std::move(ended)](absl::StatusOr<storage::StoredName> found) mutable {
      if (!found.ok()) {
        states[i] = found.status();
      } else if (found->kind != storage::StoredEntry::Kind::kFile) {
        states[i] = absl::InvalidArgumentError(absl::StrCat(names[i], " is a folder"));
      } else {
        states[i] = std::move(found->info);
      }
      std::move(ended)();
    });
  });
  return states;
}

std::vector<bool> MayBeImageObjects(storage::Storage* storage, const std::vector<std::string>& names,
                                    const std::vector<absl::StatusOr<FileInfo>>& states) {
  std::vector<char> may(names.size(), 1);  // not bool, because several threads write to it
  storage::RunCalls(names.size(), kQuestions, [&](size_t i, absl::AnyInvocable<void() &&> ended) {
    if (!states[i].ok()) return std::move(ended)();
    storage->Open(
        names[i], {.listed = *states[i]},
        [&may, i, ended = std::move(ended)](absl::StatusOr<std::unique_ptr<storage::StoredFile>> file) mutable {
          if (!file.ok()) return std::move(ended)();
          struct Start {
            std::unique_ptr<storage::StoredFile> file;
            std::array<char, kStart> bytes = {};
          };
          auto start = std::make_shared<Start>(Start{*std::move(file)});
          storage::StoredFile* const opened = start->file.get();
          char* const out = start->bytes.data();
          opened->Read(
              0, kStart, out, {},
              [&may, i, start = std::move(start), ended = std::move(ended)](absl::StatusOr<size_t> got) mutable {
                if (got.ok()) may[i] = BeginsAsImage({start->bytes.data(), *got}) ? 1 : 0;
                std::move(ended)();
              });
        });
  });
  return {may.begin(), may.end()};
}

}  // namespace penstock::imports
