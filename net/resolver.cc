#include "net/resolver.h"

#include <cstdlib>

namespace penstock::net {

void UseHostResolver() { setenv("GRPC_DNS_RESOLVER", "native", /*overwrite=*/0); }

}  // namespace penstock::net
