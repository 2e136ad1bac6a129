// Tokens: secrets by which callers prove their names.
#ifndef PENSTOCK_NET_ACCESS_TOKEN_H_
#define PENSTOCK_NET_ACCESS_TOKEN_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/runtime/followed_file.h"
#include "base/runtime/random_source.h"
#include "net/access/access_list.h"

namespace penstock::net {

// Returns a new token: "pst_" and 256 random bits in base64url, 47 characters.
std::string MakeToken(RandomSource* random);

// Returns the token's SHA-256. A token is random, so its digest needs neither salt nor many rounds.
AccessList::Digest DigestOf(std::string_view token);

// Reads the file of a client's token. The token is the content without blanks at its ends. InvalidArgument: the file
// has no token, or the token has blanks, bytes other than printable ASCII, or more than 512 bytes. Other errors are
// those of ReadWholeFile. No error contains the token.
absl::StatusOr<std::string> ReadToken(const std::string& path);

// The token of a client, which follows its file.
using LiveToken = FollowedFile<std::string>;

// Reads the file, and follows it on a thread of its own. Errors are those of ReadToken.
absl::StatusOr<std::shared_ptr<const LiveToken>> OpenToken(const std::string& path);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_ACCESS_TOKEN_H_
