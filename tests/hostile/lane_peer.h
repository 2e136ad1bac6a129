// A client of one stream that opens the stream's connections as the test chooses, and reads some of them.
#ifndef PENSTOCK_TESTS_HOSTILE_LANE_PEER_H_
#define PENSTOCK_TESTS_HOSTILE_LANE_PEER_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "net/tls/client_security.h"
#include "penstock/v1/data.pb.h"
#include "transport/message_stream.h"

namespace penstock::hostile {

// Calls block until the worker answers, or until Cancel. Not thread-safe, except Cancel.
class LanePeer {
 public:
  LanePeer(const transport::WorkerAddress& worker, const net::ClientSecurity& security);
  ~LanePeer() { Cancel(); }

  // Opens the stream's first connection and then further ones, up to `count` in all. With `join`, confirms each further
  // one, so that the worker sends rows there.
  void Open(size_t count, bool join);
  // Sends a message over the first connection. Returns false after the end of the stream.
  bool Send(const v1::ClientMessage& message);
  // Reads and drops a message of the first connection. Returns false after the end of the stream.
  bool ReadFirst();
  // Ends all connections, also those that Open opens later.
  void Cancel();

 private:
  struct Lane {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call;
  };

  const transport::WorkerAddress worker_;
  const std::string name_;  // name of the stream
  const std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // only Open changes it, under the lock
  Mutex mutex_;
  bool canceled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::hostile

#endif  // PENSTOCK_TESTS_HOSTILE_LANE_PEER_H_
