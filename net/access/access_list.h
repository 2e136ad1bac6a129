// The file of --tokens: the names that may call a daemon, their roles, and how each proves its name.
//
// Each line has fields separated by blanks. '#' begins a comment. A line for a token:
//
//   NAME ROLE JOBS SHA256
//
// and a line for a name in the certificate that a caller shows (a DNS name or a URI of its SAN, never its CN):
//
//   san:DNS_NAME_OR_URI ROLE JOBS
//
//   NAME     1 to 64 of the characters A-Z a-z 0-9 . _ -
//   ROLE     viewer, trainer, trainer+submit, worker or operator
//   JOBS     globs of the jobs that a trainer may read or submit, separated by commas, such as imagenet-*,coco. Other
//            roles: *
//   SHA256   digest of the token in hexadecimal digits (net/access/token.h)
//
// A name may have at most two tokens, so that the new one can be distributed before the old one is removed. Both lines
// have the same role and jobs. The name of a caller by certificate is "san:..." as in its line, so it never equals the
// name of a token.
#ifndef PENSTOCK_NET_ACCESS_ACCESS_LIST_H_
#define PENSTOCK_NET_ACCESS_ACCESS_LIST_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::net {

// Values are bits, so that a set of roles is their sum.
enum class Role : unsigned {
  kViewer = 1,      // reads the state of the cluster
  kTrainer = 2,     // reads rows of its jobs, and their state
  kWorker = 4,      // serves rows
  kOperator = 8,    // everything
  kSubmitter = 16,  // "trainer+submit": a trainer that also submits jobs, and changes those that it owns
};

std::string_view RoleName(Role role);
std::optional<Role> ParseRole(std::string_view text);
// Returns the names of the roles in a set of bits: "viewer, trainer or operator".
std::string RoleNames(unsigned roles);

// A name and what it may do.
struct Principal {
  std::string name;
  Role role = Role::kViewer;
  std::vector<std::string> jobs;  // globs

  bool operator==(const Principal&) const = default;
};

// Checks a principal that proves its name by a token. Errors name the field and the remedy.
absl::Status CheckTokenPrincipal(const Principal& principal);

// Returns the globs in a list separated by commas, unchecked.
std::vector<std::string> SplitJobs(std::string_view text);

// The lines of one file. Immutable.
class AccessList {
 public:
  using Digest = std::array<uint8_t, 32>;

  // Parses the content of `path`. InvalidArgument names the path, the line, the mistake and the remedy. A file without
  // a line is a mistake, because it admits no caller.
  static absl::StatusOr<AccessList> Parse(std::string_view text, const std::string& path);

  // Returns the principal of a token, or null. Compares with all digests, in a time that does not depend on them.
  const Principal* OfToken(std::string_view token) const;
  // Returns the principal of the first line that has one of the certificate's names, or null. DNS names are compared
  // without regard to case.
  const Principal* OfCertificate(const std::vector<std::string>& names) const;

  // Returns whether a line has this name (Principal::name).
  bool HasName(std::string_view name) const;

  size_t size() const { return tokens_.size() + certificates_.size(); }
  bool operator==(const AccessList&) const = default;

 private:
  struct TokenLine {
    Digest digest;
    Principal principal;
    bool operator==(const TokenLine&) const = default;
  };
  struct CertificateLine {
    std::string name;  // without "san:"
    Principal principal;
    bool operator==(const CertificateLine&) const = default;
  };
  absl::Status AddLine(const std::vector<std::string>& fields);
  absl::Status AddToken(const Principal& principal, std::string_view digest);
  absl::Status AddCertificate(const Principal& principal);

  std::vector<TokenLine> tokens_;
  std::vector<CertificateLine> certificates_;
};

// Returns the line of a token, without a line end.
std::string TokenLineOf(const Principal& principal, const AccessList::Digest& digest);

// Reads and parses a file. Blocks for the read. Errors are those of Parse, of ReadWholeFile for a file that cannot be
// read, and PermissionDenied for a file that other users than its owner and its group can read or write.
absl::StatusOr<AccessList> ReadAccessList(const std::string& path);

// Appends a line to the file of `path` in one write, and syncs it. Makes the file with mode 0600 if there is none.
// Otherwise keeps its owner and mode. Checks the file and the new line as ReadAccessList does, and adds nothing if they
// have an error. Undoes a write that fails. After an error of fsync the line may be in the file. Blocks until no other
// process appends.
absl::Status AppendTokenLine(const std::string& path, const std::string& line);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_ACCESS_ACCESS_LIST_H_
