#include "server/worker/link/identity.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "base/temporaries.h"

namespace penstock::worker {
namespace {

constexpr size_t kMaxIdBytes = 128;

bool IsIdLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'; }

}  // namespace

absl::StatusOr<std::string> LoadOrMakeWorkerId(const std::string& state_dir, RandomSource* random) {
  const std::string path = state_dir + "/worker_id";
  RemoveTemporariesOf(path);
  absl::StatusOr<std::string> stored = ReadWholeFile(path, 4096);
  if (stored.ok()) {
    const std::string id(absl::StripAsciiWhitespace(*stored));
    if (id.empty() || id.size() > kMaxIdBytes || !std::all_of(id.begin(), id.end(), IsIdLetter)) {
      return absl::DataLossError(absl::StrCat(path, " holds no worker id; remove it, and the worker gets a new one"));
    }
    return id;
  }
  if (!absl::IsNotFound(stored.status())) return stored.status();
  std::string host = HostName().substr(0, 64);
  std::replace_if(
      host.begin(), host.end(), [](char c) { return !IsIdLetter(c); }, '-');
  std::string id = absl::StrCat(host, "-", absl::Hex(random->Next() & 0xffffffff, absl::kZeroPad8));
  PS_RETURN_IF_ERROR(WriteFileAtomically(path, id + "\n"));
  return id;
}

uint64_t NewIncarnation(RandomSource* random) { return std::max<uint64_t>(1, random->Next()); }

}  // namespace penstock::worker
