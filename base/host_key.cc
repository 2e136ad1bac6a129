#include "base/host_key.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace penstock {

std::string HostKey(std::string_view ip) {
  const std::string text(ip.substr(0, ip.find('%')));
  in6_addr address = {};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return std::string(ip);
  if (IN6_IS_ADDR_LOOPBACK(&address)) return "::1";
  std::array<char, INET6_ADDRSTRLEN> out = {};
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, &address.s6_addr[12], out.data(), out.size());
    return out.data();
  }
  std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), uint8_t{0});
  inet_ntop(AF_INET6, &address, out.data(), out.size());
  return std::string(out.data()) + "/64";
}

}  // namespace penstock
