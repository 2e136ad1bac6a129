// The sessions of browsers. A browser shows its token once, and gets a cookie instead. The cookie has a random id, so
// that it opens only the pages of this process. Browsers send cookies to all ports of a host.
#ifndef PENSTOCK_SERVER_HTTP_HTTP_SESSIONS_H_
#define PENSTOCK_SERVER_HTTP_HTTP_SESSIONS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/runtime/random_source.h"

namespace penstock::server {

// For the thread of one server.
class HttpSessions {
 public:
  // A new session ends the oldest one if there are this many.
  static constexpr size_t kMost = 256;

  // `name` is the cookie's name. Ports of one host share cookies, so their names must differ. `secure`: the server
  // serves TLS, the browser sends the cookie only by TLS, and the name gets the prefix __Host-.
  HttpSessions(std::string name, bool secure, RandomSource* random = RandomSource::Real());

  // Opens a session of the token. Returns the value of the field Set-Cookie. Browsers drop the cookie when they end. No
  // script can read it, and no page of another site can send it.
  std::string Open(std::string token);
  // Returns the token of the session in the value of a field Cookie, or "" without a session.
  std::string TokenOf(std::string_view cookies) const;

 private:
  const std::string name_;
  const bool secure_;
  RandomSource* const random_;
  std::map<std::string, std::string, std::less<>> tokens_;  // by id
  std::deque<std::string> order_;                           // ids, the oldest first
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_HTTP_SESSIONS_H_
