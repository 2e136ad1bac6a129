#include "net/address.h"

#include <charconv>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock::net {
namespace {

absl::Status Bad(std::string_view text, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", absl::CHexEscape(absl::string_view(text.data(), text.size())),
                                                 "\" is no address: ", what,
                                                 "; write HOST:PORT, such as localhost:7070 or [::1]:7070"));
}

}  // namespace

std::string Address::ToString() const {
  return host.find(':') == std::string::npos ? absl::StrCat(host, ":", port) : absl::StrCat("[", host, "]:", port);
}

bool Address::IsLoopback() const {
  if (host == "localhost" || host == "::1") return true;
  // Require four numbers of which the first is 127: "127.example.com" is a host name.
  if (host.rfind("127.", 0) != 0) return false;
  int dots = 0;
  for (const char c : host) {
    if (c == '.') {
      ++dots;
    } else if (c < '0' || c > '9') {
      return false;
    }
  }
  return dots == 3;
}

absl::StatusOr<Address> ParseAddress(std::string_view text, std::optional<uint16_t> default_port) {
  Address address;
  std::string_view port;
  bool has_port = false;
  if (!text.empty() && text.front() == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return Bad(text, "the ] of the IPv6 address is missing");
    address.host = std::string(text.substr(1, close - 1));
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty()) {
      if (rest.front() != ':') return Bad(text, "after ] comes a colon and the port");
      port = rest.substr(1);
      has_port = true;
    }
  } else {
    const size_t colon = text.find(':');
    if (text.find("://") != std::string_view::npos) return Bad(text, "it is a URL");
    if (colon != text.rfind(':')) return Bad(text, "an IPv6 address needs brackets");
    address.host = std::string(text.substr(0, colon));
    if (colon != std::string_view::npos) {
      port = text.substr(colon + 1);
      has_port = true;
    }
  }
  if (address.host.empty()) return Bad(text, "it has no host");
  for (const char c : address.host) {
    const bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                      c == '-' || c == '_' || c == ':' || c == '%';
    if (!fine) return Bad(text, "the host has a character that no host name has");
  }
  if (!has_port) {
    if (!default_port.has_value()) return Bad(text, "it has no port");
    address.port = *default_port;
    return address;
  }
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || error != std::errc() || end != port.data() + port.size() || number > 65535) {
    return Bad(text, "the port is a number from 0 to 65535");
  }
  address.port = static_cast<uint16_t>(number);
  return address;
}

}  // namespace penstock::net
