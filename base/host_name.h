// What this machine is called.
#ifndef PENSTOCK_BASE_HOST_NAME_H_
#define PENSTOCK_BASE_HOST_NAME_H_

#include <string>

namespace penstock {

// This machine's name; "localhost" where it has none.
std::string HostName();

}  // namespace penstock

#endif  // PENSTOCK_BASE_HOST_NAME_H_
