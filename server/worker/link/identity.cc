#include "server/worker/link/identity.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

absl::StatusOr<std::string> NameInCertificate(const net::LiveCertificates& certificates, const std::string& wanted,
                                              const std::string& host) {
  const std::string& name = wanted.empty() ? host : wanted;
  const std::shared_ptr<const net::Certificates> current = certificates.current();
  if (net::IsForHost(*current, name)) return name;
  return absl::FailedPreconditionError(absl::StrCat(
      "certificate ", certificates.files().cert, " is ",
      current->names.empty() ? std::string("for no name") : absl::StrCat("for ", absl::StrJoin(current->names, ", ")),
      ", and not for ", name,
      wanted.empty() ? ", to which clients connect. Name one of its names with --tls-name"
                     : ", which --tls-name names"));
}

}  // namespace penstock::worker
