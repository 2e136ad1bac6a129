// The caller's token or ticket in the metadata of a call.
#ifndef PENSTOCK_NET_CALL_TOKEN_H_
#define PENSTOCK_NET_CALL_TOKEN_H_

#include <grpcpp/client_context.h>

#include <string>
#include <string_view>

#include "net/call_release.h"

namespace penstock::net {

// Adds "authorization: Bearer TOKEN" to the metadata of a call that has not started. Adds nothing for "".
void AddToken(grpc::ClientContext* context, const std::string& token);

// Adds a ticket to the metadata of a stream that has not started. Adds nothing for "".
void AddTicket(grpc::ClientContext* context, const std::string& ticket);

// Returns the caller's ticket, or "" if the metadata has none. It refers to `metadata`.
std::string_view TicketIn(const CallMetadata& metadata);

// Returns the caller's token, or "" if the metadata has none. It refers to `metadata`.
std::string_view TokenIn(const CallMetadata& metadata);

// Returns the token in the value of an authorization field, of HTTP too, or "" if it is of another scheme than Bearer.
std::string_view TokenInField(std::string_view value);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_CALL_TOKEN_H_
