#include "net/access/access_list.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/near_name.h"
#include "base/owned_fd.h"
#include "base/status_macros.h"
#include "net/access/token.h"

namespace penstock::net {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;  // limit of the file
constexpr size_t kMostTokensOfAName = 2;
constexpr size_t kMostNameBytes = 64, kMostSanBytes = 512, kMostGlobs = 64, kMostGlobBytes = 256;
constexpr absl::string_view kSan = "san:";

struct RoleWord {
  Role role;
  std::string_view word;
};
constexpr RoleWord kRoles[] = {{Role::kViewer, "viewer"},
                               {Role::kTrainer, "trainer"},
                               {Role::kSubmitter, "trainer+submit"},
                               {Role::kWorker, "worker"},
                               {Role::kOperator, "operator"}};

absl::Status Mistake(const std::string& text) { return absl::InvalidArgumentError(text); }

bool IsPlain(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || also.find(c) != std::string_view::npos;
  });
}

bool IsGraph(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

absl::Status CheckName(std::string_view name) {
  if (absl::StartsWith(absl::string_view(name.data(), name.size()), kSan)) {
    const std::string_view san = name.substr(kSan.size());
    if (san.empty() || san.size() > kMostSanBytes || !IsGraph(san)) {
      return Mistake(absl::StrCat("'", std::string(name),
                                  "' is no name in a certificate: write san: and a DNS name or a "
                                  "URI, of at most ",
                                  kMostSanBytes, " bytes and without blanks"));
    }
    return absl::OkStatus();
  }
  if (name.size() > kMostNameBytes || !IsPlain(name, "._-")) {
    return Mistake(absl::StrCat("'", std::string(name), "' is no name: use 1 to ", kMostNameBytes,
                                " letters, digits and the characters . _ -"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Role> RoleIn(std::string_view word) {
  if (const std::optional<Role> role = ParseRole(word)) return *role;
  std::vector<std::string> words;
  for (const RoleWord& known : kRoles) words.emplace_back(known.word);
  return Mistake(absl::StrCat("'", std::string(word), "' is no role", DidYouMean(word, words), "; there are ",
                              absl::StrJoin(words, ", ")));
}

absl::Status CheckPrincipal(const Principal& principal) {
  PS_RETURN_IF_ERROR(CheckName(principal.name));
  if (principal.jobs.empty() || principal.jobs.size() > kMostGlobs) {
    return Mistake(absl::StrCat("name 1 to ", kMostGlobs, " globs of jobs, such as imagenet-*,coco, or * for all"));
  }
  for (const std::string& glob : principal.jobs) {
    if (glob.size() > kMostGlobBytes || !IsPlain(glob, "._-*?")) {
      return Mistake(absl::StrCat("'", glob,
                                  "' is no glob of jobs: use letters, digits and the characters . _ - * ?, "
                                  "and commas between two globs"));
    }
  }
  const bool trainer = principal.role == Role::kTrainer || principal.role == Role::kSubmitter;
  if (!trainer && principal.jobs != std::vector<std::string>{"*"}) {
    return Mistake(absl::StrCat("only trainers are limited to jobs: a ", std::string(RoleName(principal.role)),
                                " needs * as its jobs"));
  }
  return absl::OkStatus();
}

bool EqualNames(const std::string& line, const std::string& shown) {
  const bool uri = absl::StrContains(line, "://");
  return uri ? line == shown : absl::EqualsIgnoreCase(line, shown);
}

// Returns the content of a file that is open at its begin, if only its owner and its group can read and write it.
absl::StatusOr<std::string> ReadPrivateFile(int fd, const std::string& path) {
  const std::string what = absl::StrCat("tokens file ", path);
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, what);
  if ((info.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(what, ": other users can ",
                                                    (info.st_mode & S_IWOTH) != 0 ? "write" : "read",
                                                    " it; run `chmod o= ", path, "`"));
  }
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, what);
    if (got == 0) return text;
    text.append(piece, static_cast<size_t>(got));
    if (text.size() > kMostBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(what, " is larger than ", kMostBytes, " bytes"));
    }
  }
}

}  // namespace

std::string_view RoleName(Role role) {
  for (const RoleWord& known : kRoles) {
    if (known.role == role) return known.word;
  }
  return "unknown";
}

std::optional<Role> ParseRole(std::string_view text) {
  for (const RoleWord& known : kRoles) {
    if (known.word == text) return known.role;
  }
  return std::nullopt;
}

std::string RoleNames(unsigned roles) {
  std::vector<std::string> words;
  for (const RoleWord& known : kRoles) {
    if ((roles & static_cast<unsigned>(known.role)) != 0) words.emplace_back(known.word);
  }
  if (words.size() < 2) return absl::StrJoin(words, "");
  const std::string last = std::move(words.back());
  words.pop_back();
  return absl::StrCat(absl::StrJoin(words, ", "), " or ", last);
}

absl::Status CheckTokenPrincipal(const Principal& principal) {
  if (absl::StartsWith(principal.name, kSan)) {
    return Mistake("a name with san: is that of a certificate, which needs no token: write its line by hand");
  }
  return CheckPrincipal(principal);
}

std::vector<std::string> SplitJobs(std::string_view text) {
  return absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
}

absl::Status AccessList::AddToken(const Principal& principal, std::string_view digest) {
  TokenLine line{{}, principal};
  if (digest.size() != 2 * line.digest.size() || !std::all_of(digest.begin(), digest.end(), absl::ascii_isxdigit)) {
    return Mistake("the last field is no SHA-256 digest in 64 hexadecimal digits; `penstock token` prints whole lines");
  }
  const std::string bytes = absl::HexStringToBytes(absl::string_view(digest.data(), digest.size()));
  std::copy(bytes.begin(), bytes.end(), line.digest.begin());
  size_t same_name = 0;
  for (const TokenLine& other : tokens_) {
    if (other.digest == line.digest) {
      return Mistake(absl::StrCat("the token is also that of '", other.principal.name, "'; each line needs its own"));
    }
    if (other.principal.name != principal.name) continue;
    ++same_name;
    if (other.principal != principal) {
      return Mistake(absl::StrCat("'", principal.name,
                                  "' has another role or other jobs in an earlier line; both lines "
                                  "of a name must agree"));
    }
  }
  if (same_name >= kMostTokensOfAName) {
    return Mistake(
        absl::StrCat("'", principal.name, "' has ", kMostTokensOfAName, " tokens already; remove the oldest"));
  }
  tokens_.push_back(std::move(line));
  return absl::OkStatus();
}

absl::Status AccessList::AddCertificate(const Principal& principal) {
  CertificateLine line{principal.name.substr(kSan.size()), principal};
  for (const CertificateLine& other : certificates_) {
    if (EqualNames(other.name, line.name)) return Mistake(absl::StrCat("'", principal.name, "' has a line already"));
  }
  certificates_.push_back(std::move(line));
  return absl::OkStatus();
}

absl::Status AccessList::AddLine(const std::vector<std::string>& fields) {
  const bool certificate = absl::StartsWith(fields[0], kSan);
  if (fields.size() != (certificate ? 3u : 4u)) {
    return Mistake(absl::StrCat("it has ", fields.size(), " fields; write ",
                                certificate ? "san:NAME ROLE JOBS" : "NAME ROLE JOBS SHA256"));
  }
  Principal principal{.name = fields[0], .jobs = SplitJobs(fields[2])};
  PS_ASSIGN_OR_RETURN(principal.role, RoleIn(fields[1]));
  PS_RETURN_IF_ERROR(CheckPrincipal(principal));
  return certificate ? AddCertificate(principal) : AddToken(principal, fields[3]);
}

absl::StatusOr<AccessList> AccessList::Parse(std::string_view text, const std::string& path) {
  AccessList list;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const absl::string_view content = line.substr(0, line.find('#'));
    const std::vector<std::string> fields = absl::StrSplit(content, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (fields.empty()) continue;
    if (const absl::Status added = list.AddLine(fields); !added.ok()) {
      return Mistake(absl::StrCat("tokens file ", path, ", line ", number, ": ", added.message()));
    }
  }
  if (list.size() == 0) {
    return Mistake(absl::StrCat("tokens file ", path,
                                " has no line, so it admits no caller; make one with `penstock token "
                                "NAME --role operator --file ",
                                path, "`"));
  }
  return list;
}

const Principal* AccessList::OfToken(std::string_view token) const {
  const Digest digest = DigestOf(token);
  const Principal* found = nullptr;
  for (const TokenLine& line : tokens_) {
    if (CRYPTO_memcmp(line.digest.data(), digest.data(), digest.size()) == 0) found = &line.principal;
  }
  return found;
}

const Principal* AccessList::OfCertificate(const std::vector<std::string>& names) const {
  for (const CertificateLine& line : certificates_) {
    for (const std::string& name : names) {
      if (EqualNames(line.name, name)) return &line.principal;
    }
  }
  return nullptr;
}

bool AccessList::HasName(std::string_view name) const {
  const auto has_name = [name](const auto& line) { return line.principal.name == name; };
  return std::any_of(tokens_.begin(), tokens_.end(), has_name) ||
         std::any_of(certificates_.begin(), certificates_.end(), has_name);
}

std::string TokenLineOf(const Principal& principal, const AccessList::Digest& digest) {
  const absl::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  return absl::StrCat(principal.name, " ", std::string(RoleName(principal.role)), " ",
                      absl::StrJoin(principal.jobs, ","), " ", absl::BytesToHexString(bytes));
}

absl::StatusOr<AccessList> ReadAccessList(const std::string& path) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, absl::StrCat("tokens file ", path));
  PS_ASSIGN_OR_RETURN(const std::string text, ReadPrivateFile(fd.get(), path));
  return AccessList::Parse(text, path);
}

absl::Status AppendTokenLine(const std::string& path, const std::string& line) {
  const std::string what = absl::StrCat("tokens file ", path);
  const OwnedFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (fd.get() < 0) return ErrnoStatus(errno, what);
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, what);
  }
  PS_ASSIGN_OR_RETURN(const std::string text, ReadPrivateFile(fd.get(), path));
  const std::string added = absl::StrCat(text.empty() || text.back() == '\n' ? "" : "\n", line, "\n");
  PS_RETURN_IF_ERROR(AccessList::Parse(absl::StrCat(text, added), path).status());
  const ssize_t wrote = write(fd.get(), added.data(), added.size());
  if (wrote != static_cast<ssize_t>(added.size())) {
    const int error = wrote < 0 ? errno : ENOSPC;
    if (ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0) return ErrnoStatus(errno, what);
    return ErrnoStatus(error, what);
  }
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, what);
  return absl::OkStatus();
}

}  // namespace penstock::net
