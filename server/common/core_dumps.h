// Core dumps of the daemon.
#ifndef PENSTOCK_SERVER_COMMON_CORE_DUMPS_H_
#define PENSTOCK_SERVER_COMMON_CORE_DUMPS_H_

namespace penstock::server {

// Prevents core dumps of this process. They would contain keys of storage, private keys and rows.
void PreventCoreDumps();

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_CORE_DUMPS_H_
