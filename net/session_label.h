// The name of a session in status, messages, logs and traces.
#ifndef PENSTOCK_NET_SESSION_LABEL_H_
#define PENSTOCK_NET_SESSION_LABEL_H_

#include <string>
#include <string_view>

namespace penstock::net {

// Returns the first eight digits of the id. Only the coordinator, the client and its workers may know the full id,
// because a process that knows it may act for the session.
inline std::string SessionLabel(std::string_view id) { return std::string(id.substr(0, 8)); }

}  // namespace penstock::net

#endif  // PENSTOCK_NET_SESSION_LABEL_H_
