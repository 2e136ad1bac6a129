// Certificates and tokens of a cluster over TLS with roles, for tests. Tokens are made by the command, which the target
// names as PENSTOCK.
#ifndef PENSTOCK_TESTS_FAULTS_SECURE_FILES_H_
#define PENSTOCK_TESTS_FAULTS_SECURE_FILES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/support/certificates/certificates.h"

namespace penstock::faults {

// The folder has coordinator/ and worker/ with certificates until 2100, the file tokens, and the tokens of ops
// (operator), nodes (worker) and alice (trainer) as NAME.token.
class SecureFiles {
 public:
  static constexpr int64_t kIn2100 = 4'102'444'800;  // seconds since 1970

  explicit SecureFiles(std::string folder) : folder_(std::move(folder)) {
    for (const std::string side : {"coordinator", "worker"}) Issue(side);
    NewToken("ops", "operator");
    NewToken("nodes", "worker");
    NewToken("alice", "trainer");
  }

  std::string Tokens() const { return folder_ + "/tokens"; }
  std::string TokenOf(const std::string& name) const { return absl::StrCat(folder_, "/", name, ".token"); }
  std::string Ca() const { return folder_ + "/coordinator/ca.pem"; }

  // Writes or replaces the certificate of a side.
  void Issue(const std::string& side, absl::Time ends = absl::FromUnixSeconds(kIn2100)) {
    std::filesystem::create_directories(folder_ + "/" + side);
    WriteCertificates(
        folder_ + "/" + side, authority_,
        authority_.Issue({.names = {"DNS:localhost", "IP:127.0.0.1", "DNS:workers.example"}, .ends = ends}));
  }
  // Replaces the key of a side by that of another certificate.
  void ReplaceKey(const std::string& side) {
    ASSERT_TRUE(WriteFileAtomically(absl::StrCat(folder_, "/", side, "/key.pem"), authority_.Issue().key).ok());
  }
  // Makes a token, and replaces the file with the secret of the name.
  void NewToken(const std::string& name, const std::string& role) {
    const std::string command =
        absl::StrCat("'", PENSTOCK, "' token ", name, " --role ", role, role == "trainer" ? " --jobs '*'" : "",
                     " --file '", Tokens(), "' >'", TokenOf(name), "'");
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  void WriteTokens(const std::string& lines) {
    ASSERT_TRUE(WriteFileAtomically(Tokens(), lines).ok());
    std::filesystem::permissions(Tokens(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  // Removes the tokens of a name.
  void RemoveTokensOf(const std::string& name) {
    std::string lines;
    for (const absl::string_view line : absl::StrSplit(*ReadWholeFile(Tokens()), '\n')) {
      if (!absl::StartsWith(line, name + " ")) absl::StrAppend(&lines, line, "\n");
    }
    WriteTokens(lines);
  }
  // Returns `flags` and those of a daemon of this side.
  std::vector<std::string> Flags(const std::string& side, std::vector<std::string> flags = {}) const {
    for (const std::string name : {"cert", "key", "ca"}) {
      flags.insert(flags.end(), {"--tls-" + name, absl::StrCat(folder_, "/", side, "/", name, ".pem")});
    }
    flags.insert(flags.end(), {"--tokens", Tokens()});
    return flags;
  }

 private:
  const std::string folder_;
  support::TestAuthority authority_;
};

}  // namespace penstock::faults

#endif  // PENSTOCK_TESTS_FAULTS_SECURE_FILES_H_
