// Messages as JSON, for the commands with --json and for the HTTP port.
#ifndef PENSTOCK_NET_MESSAGE_JSON_H_
#define PENSTOCK_NET_MESSAGE_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace penstock::net {

// Returns a message as JSON with the proto's field names. All fields are present, except unset members of a oneof. An
// unset message that can contain its own type is null. Hashes, fingerprints, revisions and ids of 64 bits are strings,
// because most JSON readers would keep only 53 bits. Infinities and NaN are strings too. Bytes are hexadecimal digits.
std::string MessageToJson(const google::protobuf::Message& message);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_MESSAGE_JSON_H_
