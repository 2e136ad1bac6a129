// Conversion of protocol ranges between message and struct.
#ifndef PENSTOCK_NET_PROTOCOLS_PROTO_H_
#define PENSTOCK_NET_PROTOCOLS_PROTO_H_

#include "base/version.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock::net {

inline v1::Protocols ToProto(const Protocols& protocols) {
  v1::Protocols message;
  message.set_oldest(protocols.oldest);
  message.set_newest(protocols.newest);
  return message;
}

inline Protocols ProtocolsOf(const v1::Protocols& message) { return {message.oldest(), message.newest()}; }

}  // namespace penstock::net

#endif  // PENSTOCK_NET_PROTOCOLS_PROTO_H_
