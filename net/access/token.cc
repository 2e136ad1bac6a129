#include "net/access/token.h"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock::net {
namespace {

constexpr size_t kTokenBytes = 32, kMostTokenChars = 512;
constexpr uint64_t kMostFileBytes = 4096;

}  // namespace

std::string MakeToken(RandomSource* random) {
  std::string bytes;
  while (bytes.size() < kTokenBytes) {
    const uint64_t word = random->Next();
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(word >> shift));
  }
  return absl::StrCat("pst_", absl::WebSafeBase64Escape(bytes));
}

AccessList::Digest DigestOf(std::string_view token) {
  AccessList::Digest digest{};
  unsigned size = 0;
  PS_CHECK(EVP_Digest(token.data(), token.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1 &&
           size == digest.size());
  return digest;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  absl::StatusOr<std::string> read = ReadWholeFile(path, kMostFileBytes);
  if (!read.ok()) {
    return absl::Status(read.status().code(), absl::StrCat("token file: ", read.status().message()));
  }
  const std::string token(absl::StripAsciiWhitespace(*read));
  const auto fault = [&](const char* what) {
    return absl::InvalidArgumentError(
        absl::StrCat("token file ", path, " ", what,
                     "; it must have the secret that `penstock token` printed, and nothing "
                     "else"));
  };
  if (token.empty()) return fault("is empty");
  if (token.size() > kMostTokenChars) return fault("is too long for a token");
  for (const char c : token) {
    if (c <= ' ' || c > '~') return fault("has blanks, several lines or bytes that no token has");
  }
  return token;
}

absl::StatusOr<std::shared_ptr<const LiveToken>> OpenToken(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<LiveToken> token, LiveToken::Load([path] { return ReadToken(path); }));
  PS_RETURN_IF_ERROR(token->Watch("token-file"));
  return token;
}

}  // namespace penstock::net
