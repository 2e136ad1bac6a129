// The release of each side in the metadata of a call.
#ifndef PENSTOCK_NET_CALL_RELEASE_H_
#define PENSTOCK_NET_CALL_RELEASE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/string_ref.h>

#include <map>

#include "base/version.h"

namespace penstock::net {

// Metadata of a call ("penstock-release: 0.3.0", "penstock-protocols: 1-2"), as gRPC returns it.
using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// Adds this process's release to the metadata of a call that has not started.
void AddRelease(grpc::ClientContext* context);

// Adds this process's release to the metadata of the reply. Call it before the call is finished.
void AddRelease(grpc::ServerContextBase* context);

// Returns the other side's release. A release up to 0.2, and a range that cannot be parsed, give {"", {0, 0}}.
Release ReleaseIn(const CallMetadata& metadata);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_CALL_RELEASE_H_
