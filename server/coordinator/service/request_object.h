// The object of a request, for the audit log.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_REQUEST_OBJECT_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_REQUEST_OBJECT_H_

#include <string_view>

#include "penstock/v1/control.pb.h"

namespace penstock::coordinator {

// Returns the job, worker or name that a request is about, or "". The result lives as long as the request.
template <typename Request>
std::string_view ObjectOf(const Request& request) {
  if constexpr (requires { request.job(); }) {
    return request.job();
  } else if constexpr (requires { request.worker(); }) {
    return request.worker();
  } else if constexpr (requires { request.name(); }) {
    return request.name();
  } else {
    return "";
  }
}
inline std::string_view ObjectOf(const v1::SubmitRequest& request) { return request.spec().name(); }

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_REQUEST_OBJECT_H_
