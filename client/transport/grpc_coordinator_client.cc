#include "client/transport/grpc_coordinator_client.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "net/channel.h"
#include "net/grpc_status.h"

namespace penstock {

struct GrpcCoordinatorClient::Calls {
  void Add(grpc::ClientContext* context) {
    MutexLock lock(&mutex);
    contexts.insert(context);
  }
  void Remove(grpc::ClientContext* context) {
    MutexLock lock(&mutex);
    contexts.erase(context);
  }

  Mutex mutex;
  std::set<grpc::ClientContext*> contexts ABSL_GUARDED_BY(mutex);
};

GrpcCoordinatorClient::GrpcCoordinatorClient(const std::string& address)
    : address_(address), stub_(v1::Coordinator::NewStub(MakeChannel(address))), calls_(std::make_shared<Calls>()) {}

GrpcCoordinatorClient::~GrpcCoordinatorClient() { Cancel(); }

void GrpcCoordinatorClient::Cancel() {
  MutexLock lock(&calls_->mutex);
  // A context is removed under the lock before it goes; TryCancel only posts the cancellation.
  for (grpc::ClientContext* context : calls_->contexts) context->TryCancel();
}

template <typename Request, typename Reply>
void GrpcCoordinatorClient::Begin(void (Async::*method)(grpc::ClientContext*, const Request*, Reply*,
                                                        std::function<void(grpc::Status)>),
                                  const Request& request, Nanos timeout, Done<Reply> done) {
  struct Call {
    grpc::ClientContext context;
    Request request;
    Reply reply;
    Done<Reply> done;
  };
  auto call = std::make_shared<Call>();
  call->request = request;
  call->done = std::move(done);
  SetDeadline(&call->context, absl::Nanoseconds(timeout));
  calls_->Add(&call->context);
  Call* const raw = call.get();
  (stub_->async()->*method)(&raw->context, &raw->request, &raw->reply,
                            [call = std::move(call), calls = calls_, address = address_](const grpc::Status& status) {
                              calls->Remove(&call->context);
                              if (status.ok()) {
                                std::move(call->done)(std::move(call->reply));
                              } else {
                                std::move(call->done)(FromGrpc(status, absl::StrCat("coordinator ", address)));
                              }
                            });
}

void GrpcCoordinatorClient::OpenSession(const v1::OpenSessionRequest& request, Nanos timeout,
                                        Done<v1::OpenSessionReply> done) {
  Begin<v1::OpenSessionRequest, v1::OpenSessionReply>(&Async::OpenSession, request, timeout, std::move(done));
}

void GrpcCoordinatorClient::Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) {
  Begin<v1::WatchRequest, v1::WatchReply>(&Async::Watch, request, timeout, std::move(done));
}

void GrpcCoordinatorClient::ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                                          Done<v1::ReportSessionReply> done) {
  Begin<v1::ReportSessionRequest, v1::ReportSessionReply>(&Async::ReportSession, request, timeout, std::move(done));
}

void GrpcCoordinatorClient::CloseSession(const v1::CloseSessionRequest& request, Nanos timeout,
                                         Done<v1::CloseSessionReply> done) {
  Begin<v1::CloseSessionRequest, v1::CloseSessionReply>(&Async::CloseSession, request, timeout, std::move(done));
}

void GrpcCoordinatorClient::JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout,
                                         Done<v1::JudgeRecordsReply> done) {
  Begin<v1::JudgeRecordsRequest, v1::JudgeRecordsReply>(&Async::JudgeRecords, request, timeout, std::move(done));
}

void GrpcCoordinatorClient::Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) {
  Begin<v1::ExplainRequest, v1::ExplainReply>(&Async::Explain, request, timeout, std::move(done));
}

void GrpcCoordinatorClient::PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) {
  Begin<v1::PutTraceRequest, v1::PutTraceReply>(&Async::PutTrace, request, timeout, std::move(done));
}

}  // namespace penstock
