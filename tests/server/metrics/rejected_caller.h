// A rejected caller, for tests of metrics.
#ifndef PENSTOCK_TESTS_SERVER_METRICS_REJECTED_CALLER_H_
#define PENSTOCK_TESTS_SERVER_METRICS_REJECTED_CALLER_H_

#include <cstdint>
#include <string>

#include "penstock/v1/control.pb.h"

namespace penstock::server {

inline v1::RejectedCaller Caller(const std::string& host, const std::string& name, const std::string& reason,
                                 uint64_t count) {
  v1::RejectedCaller caller;
  caller.set_host(host);
  caller.set_name(name);
  caller.set_reason(reason);
  caller.set_count(count);
  return caller;
}

}  // namespace penstock::server

#endif  // PENSTOCK_TESTS_SERVER_METRICS_REJECTED_CALLER_H_
