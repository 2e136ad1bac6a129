// The name under which limits count the addresses of a host.
#ifndef PENSTOCK_BASE_HOST_KEY_H_
#define PENSTOCK_BASE_HOST_KEY_H_

#include <string>
#include <string_view>

namespace penstock {

// Returns an IPv4 address unchanged: "10.0.0.7". Returns the first 64 bits of an IPv6 address, because one host may use
// all addresses that begin with them: "2001:db8:1:2::/64". Loopback stays "::1". An IPv4 address within IPv6
// ("::ffff:10.0.0.7") is that IPv4 address. Returns other text unchanged. `ip` has no brackets and no port; the scope
// of a link-local address ("%eth0") does not count.
std::string HostKey(std::string_view ip);

}  // namespace penstock

#endif  // PENSTOCK_BASE_HOST_KEY_H_
