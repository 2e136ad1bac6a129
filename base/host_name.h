// The name of this machine.
#ifndef PENSTOCK_BASE_HOST_NAME_H_
#define PENSTOCK_BASE_HOST_NAME_H_

#include <string>

namespace penstock {

// Returns this machine's name, or "localhost" if it has none.
std::string HostName();

}  // namespace penstock

#endif  // PENSTOCK_BASE_HOST_NAME_H_
