#include "server/self_checks/folder_checks.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/human_bytes.h"
#include "net/checks/host_checks.h"
#include "pipeline/storage/files.h"
#include "server/metrics/disk_rooms.h"

namespace penstock::server {
namespace {

constexpr uint64_t kLeastRoom = uint64_t{256} << 20;
// Storages renew their credentials earlier than this (kTokenRenewedBefore, kKeysRenewedBefore).
constexpr int64_t kLeastSeconds = 150;
// A storage of objects may charge for each request.
constexpr Nanos kAskStorageEvery = 60 * kSecond;

}  // namespace

v1::Finding CheckWritableFolder(const std::string& folder) {
  if (faccessat(AT_FDCWD, folder.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return net::Fault(
        absl::StrCat(folder, ": ", std::generic_category().message(errno), ". Make it writable for user ", geteuid()));
  }
  const DiskRoom room = RoomAt(folder);
  const std::string free = absl::StrCat(HumanBytes(room.free_bytes), " of ", HumanBytes(room.size_bytes));
  if (room.size_bytes > 0 && room.free_bytes < kLeastRoom) {
    return net::Fault(absl::StrCat(folder, ": only ", free, " are free. Make room on its disk"));
  }
  return net::Fine(absl::StrCat(folder, ": ", free, " are free"));
}

v1::Finding CheckDataRoot(storage::Storage* storage, const sources::DataRoot& root) {
  constexpr char kRemedy[] = ". Mount it, give this user read access, or name another --data-root";
  const std::string& path = root.path;
  if (storage->IsLocal(path)) {
    const auto close = [](DIR* opened) { closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> folder(opendir(path.c_str()), close);
    if (folder == nullptr) {
      return net::Fault(absl::StrCat(path, ": ", std::generic_category().message(errno), kRemedy));
    }
    while (const dirent* const entry = readdir(folder.get())) {
      if (const std::string_view name = entry->d_name; name != "." && name != "..") {
        return net::Fine(absl::StrCat(path, " is readable"));
      }
    }
    return net::Fault(absl::StrCat(path, " is empty. Mount its file system, or copy shards there"));
  }
  if (absl::EndsWith(path, ":/")) return net::Fine("it has all buckets, so no folder is checked");
  const absl::StatusOr<storage::StoredName> found = storage->StatAndWait(path);
  if (found.ok()) return net::Fine(absl::StrCat(path, " is readable"));
  // A web server rejects the URL of a folder in its own way.
  if ((absl::IsNotFound(found.status()) || absl::IsPermissionDenied(found.status())) && !storage->HasFolders(path)) {
    return net::Fine(absl::StrCat(path, ": the server answers"));
  }
  return net::Fault(
      absl::StrCat(std::string(found.status().message()),
                   ". Correct the credentials (docs/object-storage-keys.md), or name another --data-root"));
}

v1::Finding CheckStorageCredentials(int64_t end, int64_t now) {
  if (end == 0) return net::Fine("they have no end");
  const std::string when = absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(end), absl::UTCTimeZone());
  if (end - now > kLeastSeconds) return net::Fine(absl::StrCat("valid until ", when, ", and renewed before"));
  return net::Fault(absl::StrCat(end > now ? "they end on " : "they ended on ", when,
                                 ", and could not be renewed. Renew them (docs/object-storage-keys.md)"));
}

std::vector<SelfCheck> DataRootChecks(storage::Storage* storage, const std::vector<sources::DataRoot>& roots) {
  std::vector<SelfCheck> checks;
  bool remote = false;
  for (const sources::DataRoot& root : roots) {
    SelfCheck check{absl::StrCat("data root ", root.name), [storage, root] { return CheckDataRoot(storage, root); }};
    if (!storage->IsLocal(root.path)) {
      remote = true;
      check.every = kAskStorageEvery;
    }
    checks.push_back(std::move(check));
  }
  if (remote) {
    checks.push_back(
        {"storage credentials",
         [] { return CheckStorageCredentials(storage::CredentialsEndOfObjects(), absl::ToUnixSeconds(absl::Now())); }});
  }
  return checks;
}

SelfCheck WritableFolderCheck(const std::string& name, const std::string& folder) {
  return {name, [folder] { return CheckWritableFolder(folder); }};
}

}  // namespace penstock::server
