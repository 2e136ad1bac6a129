// A port for a process that has to know it before it listens.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_FREE_PORT_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_FREE_PORT_H_

#include <string>

namespace penstock::support {

// Returns a port below those that the system gives to outgoing connections (32768 and more by default), so that no
// connection of another process takes it before the caller's process listens.
std::string FreePort();

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_FREE_PORT_H_
