#include "tests/hostile/lane_peer.h"

#include <grpcpp/impl/codegen/rpc_method.h>

#include "base/runtime/random_source.h"
#include "net/call_token.h"
#include "net/channel.h"
#include "transport/grpc/byte_buffer.h"
#include "transport/grpc/lane_metadata.h"
#include "transport/lanes/lane.h"

namespace penstock::hostile {
namespace {

const grpc::internal::RpcMethod& StreamMethod() {
  static const grpc::internal::RpcMethod method("/penstock.v1.Worker/Stream",
                                                grpc::internal::RpcMethod::BIDI_STREAMING);
  return method;
}

}  // namespace

LanePeer::LanePeer(const transport::WorkerAddress& worker, const net::ClientSecurity& security)
    : worker_(worker),
      name_(RandomHexId(RandomSource::Real())),
      channel_(net::MakeChannel(worker.network, net::ChannelUse::kRows, security, worker.tls_name)) {}

void LanePeer::Open(size_t count, bool join) {
  while (lanes_.size() < count) {
    auto lane = std::make_unique<Lane>();
    lane->context.AddMetadata(lanes_.empty() ? transport::kBeginsStream : transport::kJoinsStream, name_);
    if (worker_.ticket != nullptr) net::AddTicket(&lane->context, worker_.ticket());
    Lane* const opened = lane.get();
    {
      MutexLock lock(&mutex_);
      lanes_.push_back(std::move(lane));
      if (canceled_) return;
    }
    opened->call.reset(grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
        channel_.get(), StreamMethod(), &opened->context));
    if (!join || lanes_.size() == 1) continue;
    grpc::ByteBuffer hello;
    if (!opened->call->Read(&hello)) return;
    opened->call->Write(transport::ToByteBuffer(transport::WithPrefix({transport::LanePrefix::Kind::kJoined, 0})));
  }
}

bool LanePeer::Send(const v1::ClientMessage& message) {
  return lanes_.front()->call != nullptr && lanes_.front()->call->Write(transport::ToByteBuffer(transport::SliceList(
                                                {transport::Slice::Of(message.SerializeAsString())})));
}

bool LanePeer::ReadFirst() {
  grpc::ByteBuffer message;
  return lanes_.front()->call != nullptr && lanes_.front()->call->Read(&message);
}

void LanePeer::Cancel() {
  MutexLock lock(&mutex_);
  canceled_ = true;
  for (const auto& lane : lanes_) lane->context.TryCancel();
}

}  // namespace penstock::hostile
