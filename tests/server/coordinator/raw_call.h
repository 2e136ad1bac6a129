// Calls of any RPC by its name over real gRPC, and a worker's service that ends each stream.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_RAW_CALL_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_RAW_CALL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "net/channel.h"
#include "transport/message_stream.h"

namespace penstock::coordinator {

// Sends one message and returns the call's status. A stream ends with the message.
inline grpc::Status RawCall(const std::string& address, std::string_view method, const std::string& message,
                            grpc::ClientContext* context) {
  grpc::GenericStub stub(net::MakeChannel(address));
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(context, absl::StrCat("/", std::string(method)), {}, &request, &reply,
                 [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  return ended.get_future().get();
}

inline bool IsOfWorker(std::string_view method) { return method.find(".Worker/") != std::string_view::npos; }

// Counts the streams that it accepts, and ends them.
class ClosingAcceptor final : public transport::StreamAcceptor {
 public:
  std::shared_ptr<transport::StreamEvents> Accept(std::shared_ptr<transport::MessageStream> stream) override {
    class Ignored final : public transport::StreamEvents {
      void OnMessage(transport::SliceList) override {}
      void OnWritten() override {}
      void OnClosed(const absl::Status&) override {}
    };
    ++streams;
    stream->Close(absl::OkStatus());
    return std::make_shared<Ignored>();
  }
  std::atomic<int> streams = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_RAW_CALL_H_
