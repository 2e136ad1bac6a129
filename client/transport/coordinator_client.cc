#include "client/transport/coordinator_client.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "net/channel.h"
#include "net/grpc_status.h"

namespace penstock {

struct CoordinatorClient::Calls {
  // False when calls are cancelled.
  bool Add(grpc::ClientContext* context) {
    MutexLock lock(&mutex);
    if (cancelled) return false;
    contexts.insert(context);
    return true;
  }
  void Remove(grpc::ClientContext* context) {
    MutexLock lock(&mutex);
    contexts.erase(context);
  }

  Mutex mutex;
  std::set<grpc::ClientContext*> contexts ABSL_GUARDED_BY(mutex);
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
};

CoordinatorClient::CoordinatorClient(const std::string& address)
    : address_(address), stub_(v1::Coordinator::NewStub(MakeChannel(address))), calls_(std::make_shared<Calls>()) {}

CoordinatorClient::~CoordinatorClient() { Cancel(); }

void CoordinatorClient::Cancel() {
  MutexLock lock(&calls_->mutex);
  calls_->cancelled = true;
  // A context is removed under the lock before it goes; TryCancel only posts the cancellation.
  for (grpc::ClientContext* context : calls_->contexts) context->TryCancel();
}

absl::StatusOr<v1::OpenSessionReply> CoordinatorClient::OpenSession(const v1::OpenSessionRequest& request,
                                                                    absl::Duration timeout) {
  grpc::ClientContext context;
  SetDeadline(&context, timeout);
  v1::OpenSessionReply reply;
  const grpc::Status status = stub_->OpenSession(&context, request, &reply);
  if (!status.ok()) return FromGrpc(status, absl::StrCat("coordinator ", address_));
  return reply;
}

absl::StatusOr<v1::WatchReply> CoordinatorClient::Watch(const v1::WatchRequest& request, absl::Duration timeout) {
  grpc::ClientContext context;
  SetDeadline(&context, timeout);
  v1::WatchReply reply;
  const grpc::Status status = stub_->Watch(&context, request, &reply);
  if (!status.ok()) return FromGrpc(status, absl::StrCat("coordinator ", address_));
  return reply;
}

absl::Status CoordinatorClient::CloseSession(const v1::CloseSessionRequest& request, absl::Duration timeout) {
  grpc::ClientContext context;
  SetDeadline(&context, timeout);
  v1::CloseSessionReply reply;
  return FromGrpc(stub_->CloseSession(&context, request, &reply), absl::StrCat("coordinator ", address_));
}

template <typename Request, typename Reply, typename Start>
void CoordinatorClient::Begin(const Request& request, absl::Duration timeout, Done<Reply> done, Start start) {
  struct Call {
    grpc::ClientContext context;
    Request request;
    Reply reply;
  };
  auto call = std::make_shared<Call>();
  call->request = request;
  SetDeadline(&call->context, timeout);
  if (!calls_->Add(&call->context)) {
    done(absl::CancelledError("the session is closed"));
    return;
  }
  Call* const raw = call.get();
  start(&raw->context, &raw->request, &raw->reply,
        [call = std::move(call), calls = calls_, address = address_, done = std::move(done)](grpc::Status status) {
          calls->Remove(&call->context);
          if (status.ok()) {
            done(std::move(call->reply));
          } else {
            done(FromGrpc(status, absl::StrCat("coordinator ", address)));
          }
        });
}

void CoordinatorClient::OpenSession(const v1::OpenSessionRequest& request, absl::Duration timeout,
                                    Done<v1::OpenSessionReply> done) {
  Begin<v1::OpenSessionRequest, v1::OpenSessionReply>(
      request, timeout, std::move(done),
      [this](grpc::ClientContext* context, const v1::OpenSessionRequest* asked, v1::OpenSessionReply* reply,
             std::function<void(grpc::Status)> finished) {
        stub_->async()->OpenSession(context, asked, reply, std::move(finished));
      });
}

void CoordinatorClient::Watch(const v1::WatchRequest& request, absl::Duration timeout, Done<v1::WatchReply> done) {
  Begin<v1::WatchRequest, v1::WatchReply>(request, timeout, std::move(done),
                                          [this](grpc::ClientContext* context, const v1::WatchRequest* asked,
                                                 v1::WatchReply* reply, std::function<void(grpc::Status)> finished) {
                                            stub_->async()->Watch(context, asked, reply, std::move(finished));
                                          });
}

void CoordinatorClient::ReportSession(const v1::ReportSessionRequest& request, absl::Duration timeout,
                                      Done<v1::ReportSessionReply> done) {
  Begin<v1::ReportSessionRequest, v1::ReportSessionReply>(
      request, timeout, std::move(done),
      [this](grpc::ClientContext* context, const v1::ReportSessionRequest* asked, v1::ReportSessionReply* reply,
             std::function<void(grpc::Status)> finished) {
        stub_->async()->ReportSession(context, asked, reply, std::move(finished));
      });
}

}  // namespace penstock
