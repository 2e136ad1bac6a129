// Chooses how gRPC resolves the names of hosts.
#ifndef PENSTOCK_NET_RESOLVER_H_
#define PENSTOCK_NET_RESOLVER_H_

namespace penstock::net {

// Makes gRPC resolve names with getaddrinfo, as other programs of the host do. gRPC's own resolver asks DNS for an IPv6
// address even if /etc/hosts has the name: it takes 3 s if no DNS server answers. If the environment sets
// GRPC_DNS_RESOLVER, does nothing. Changes the environment: call this in main before the first thread.
void UseHostResolver();

}  // namespace penstock::net

#endif  // PENSTOCK_NET_RESOLVER_H_
