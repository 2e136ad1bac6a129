#include "server/coordinator/service/coordinator_service.h"

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "net/grpc_status.h"
#include "net/session_label.h"

namespace penstock {
namespace {

absl::Status Busy() { return absl::ResourceExhaustedError("the coordinator has too many requests waiting; try again"); }

constexpr size_t kMaxWaitingFileWork = 256;

// Returns the caller's deadline as a time of the loop's clock.
Nanos DeadlineOf(const grpc::CallbackServerContext* context) {
  const auto left = context->deadline() - std::chrono::system_clock::now();
  if (left > std::chrono::hours(24)) return ControlLoop::kNoDeadline;
  return Clock::Real()->Now() + std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
}

// Finishes the call in any case, because file work may be dropped before its turn.
class FileCall {
 public:
  explicit FileCall(grpc::ServerUnaryReactor* reactor) : reactor_(reactor) {}
  FileCall(FileCall&& other) noexcept : reactor_(std::exchange(other.reactor_, nullptr)) {}
  FileCall& operator=(FileCall&&) = delete;
  ~FileCall() {
    if (reactor_ != nullptr) reactor_->Finish(ToGrpc(Busy()));
  }
  void Finish(const absl::Status& status) { std::exchange(reactor_, nullptr)->Finish(ToGrpc(status)); }

 private:
  grpc::ServerUnaryReactor* reactor_;
};

// Returns the answer's bytes in wire format, without a copy.
grpc::ByteBuffer BufferOf(const std::shared_ptr<const WatchAnswer>& answer) {
  auto* held = new std::shared_ptr<const WatchAnswer>(answer);
  const grpc::Slice slice(
      const_cast<char*>(answer->bytes.data()), answer->bytes.size(),
      [](void* of) { delete static_cast<std::shared_ptr<const WatchAnswer>*>(of); }, held);
  return grpc::ByteBuffer(&slice, 1);
}

// A long poll. It lives until gRPC is done with it, and cancels the watch when the caller disconnects.
class WatchReactor final : public grpc::ServerUnaryReactor {
 public:
  WatchReactor(ControlLoop* loop, uint64_t id) : loop_(loop), id_(id) {}
  void OnCancel() override { loop_->CancelWatch(id_); }
  void OnDone() override { delete this; }

 private:
  ControlLoop* const loop_;
  const uint64_t id_;
};

}  // namespace

// Request and reply live until the reactor is finished.
template <typename Req, typename Rep, typename Add>
grpc::ServerUnaryReactor* CoordinatorService::ApplyToState(Rpc rpc, Context* context, const Req* request, Rep* reply,
                                                           Add add) {
  return gate_.Enter(rpc, context, [&] {
    Reactor* reactor = context->DefaultReactor();
    loop_->Apply(*request, DeadlineOf(context), [reactor, reply, add](absl::Status status, Reply* made) {
      if (status.ok()) {
        *reply = std::move(std::get<Rep>(*made));
        add();
      }
      reactor->Finish(ToGrpc(status));
    });
    return reactor;
  });
}

template <typename Req, typename Rep>
grpc::ServerUnaryReactor* CoordinatorService::ApplyToState(Rpc rpc, Context* context, const Req* request, Rep* reply) {
  return ApplyToState(rpc, context, request, reply, [] {});
}

template <typename Ask>
grpc::ServerUnaryReactor* CoordinatorService::ReadState(Rpc rpc, Context* context, Ask ask) {
  return gate_.Enter(rpc, context, [&] {
    Reactor* reactor = context->DefaultReactor();
    const bool queued = loop_->Read(
        [reactor, ask](const CoordinatorState& state, Nanos now) { reactor->Finish(ToGrpc(ask(state, now))); });
    if (!queued) reactor->Finish(ToGrpc(Busy()));
    return reactor;
  });
}

template <typename Work>
grpc::ServerUnaryReactor* CoordinatorService::WithFiles(Rpc rpc, Context* context, Work work) {
  return gate_.Enter(rpc, context, [&] {
    Reactor* reactor = context->DefaultReactor();
    files_->TryPost([call = FileCall(reactor), work]() mutable { call.Finish(work()); }, kMaxWaitingFileWork);
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::Submit(Context* context, const v1::SubmitRequest* request,
                                                     v1::SubmitReply* reply) {
  return ApplyToState(Rpc::kSubmit, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Cancel(Context* context, const v1::CancelRequest* request,
                                                     v1::CancelReply* reply) {
  return ApplyToState(Rpc::kCancel, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Delete(Context* context, const v1::DeleteRequest* request,
                                                     v1::DeleteReply* reply) {
  return ApplyToState(Rpc::kDelete, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::GetStatus(Context* context, const v1::StatusRequest* request,
                                                        v1::StatusReply* reply) {
  return ReadState(Rpc::kGetStatus, context, [reply](const CoordinatorState& state, Nanos now) {
    *reply = state.Status(now);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::ListShards(Context* context, const v1::ListShardsRequest* request,
                                                         v1::ListShardsReply* reply) {
  return ReadState(Rpc::kListShards, context, [request, reply](const CoordinatorState& state, Nanos) {
    absl::StatusOr<v1::ListShardsReply> shards = state.ListShards(*request);
    if (shards.ok()) *reply = *std::move(shards);
    return shards.status();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::GetQuarantine(Context* context, const v1::QuarantineRequest* request,
                                                            v1::QuarantineReply* reply) {
  return ReadState(Rpc::kGetQuarantine, context, [request, reply](const CoordinatorState& state, Nanos) {
    absl::StatusOr<v1::QuarantineReply> quarantine = state.GetQuarantine(*request);
    if (quarantine.ok()) *reply = *std::move(quarantine);
    return quarantine.status();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::Explain(Context* context, const v1::ExplainRequest* request,
                                                      v1::ExplainReply* reply) {
  return ReadState(Rpc::kExplain, context, [request, reply](const CoordinatorState& state, Nanos now) {
    absl::StatusOr<v1::ExplainReply> explained = state.Explain(*request, now);
    if (explained.ok()) *reply = *std::move(explained);
    return explained.status();
  });
}

void CoordinatorService::AddTraces(const std::string& process,
                                   google::protobuf::RepeatedPtrField<v1::TraceOrder>* orders) {
  MutexLock lock(&traces_mutex_);
  traces_.AddOrders(process, Clock::Real()->Now(), orders);
}

grpc::ServerUnaryReactor* CoordinatorService::StartTrace(Context* context, const v1::StartTraceRequest* request,
                                                         v1::StartTraceReply* reply) {
  return ReadState(Rpc::kStartTrace, context, [this, request, reply](const CoordinatorState& state, Nanos now) {
    const absl::StatusOr<std::vector<TraceParty>> parties = state.TraceParties(request->job(), now);
    if (!parties.ok()) return parties.status();
    MutexLock lock(&traces_mutex_);
    absl::StatusOr<v1::StartTraceReply> started =
        traces_.Start((uint64_t{std::random_device()()} << 32) | std::random_device()(), *request, *parties,
                      state.AllToldWithin(), Clock::Real()->Now());
    if (started.ok()) *reply = *std::move(started);
    return started.status();
  });
}

grpc::ServerUnaryReactor* CoordinatorService::GetTrace(Context* context, const v1::GetTraceRequest* request,
                                                       v1::GetTraceReply* reply) {
  return gate_.Enter(Rpc::kGetTrace, context, [&]() -> Reactor* {
    Reactor* reactor = context->DefaultReactor();
    absl::StatusOr<v1::GetTraceReply> got;
    {
      MutexLock lock(&traces_mutex_);
      got = traces_.Get(*request, Clock::Real()->Now());
    }
    if (got.ok()) *reply = *std::move(got);
    reactor->Finish(ToGrpc(got.status()));
    return reactor;
  });
}

// Answered on gRPC's thread, so that the times in the reply are the times of receipt and sending.
grpc::ServerUnaryReactor* CoordinatorService::PutTrace(Context* context, const v1::PutTraceRequest* request,
                                                       v1::PutTraceReply* reply) {
  return gate_.Enter(Rpc::kPutTrace, context, [&]() -> Reactor* {
    Reactor* reactor = context->DefaultReactor();
    const Nanos received = Clock::Real()->Now();
    absl::Status status;
    {
      MutexLock lock(&traces_mutex_);
      status = traces_.Put(*request, received);
    }
    reply->set_received(received);
    reply->set_sent(Clock::Real()->Now());
    reactor->Finish(ToGrpc(status));
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::Drain(Context* context, const v1::DrainRequest* request,
                                                    v1::DrainReply* reply) {
  return ApplyToState(Rpc::kDrain, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Watch(Context* context, const grpc::ByteBuffer* request,
                                                    grpc::ByteBuffer* reply) {
  return gate_.Enter(Rpc::kWatch, context, [&]() -> Reactor* {
    const uint64_t id = next_watch_.fetch_add(1);
    Reactor* reactor = new WatchReactor(loop_, id);
    v1::WatchRequest asked;
    grpc::ByteBuffer bytes(*request);  // a copy, because parsing consumes it
    if (!grpc::SerializationTraits<v1::WatchRequest>::Deserialize(&bytes, &asked).ok()) {
      reactor->Finish(ToGrpc(absl::InvalidArgumentError("Watch: the request is no WatchRequest")));
      return reactor;
    }
    loop_->Watch(id, asked, [reactor, reply](absl::StatusOr<std::shared_ptr<const WatchAnswer>> answer) {
      if (answer.ok()) *reply = BufferOf(*answer);
      reactor->Finish(ToGrpc(answer.status()));
    });
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::RegisterWorker(Context* context, const v1::RegisterWorkerRequest* request,
                                                             v1::RegisterWorkerReply* reply) {
  return ApplyToState(Rpc::kRegisterWorker, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Heartbeat(Context* context, const v1::HeartbeatRequest* request,
                                                        v1::HeartbeatReply* reply) {
  return ApplyToState(Rpc::kHeartbeat, context, request, reply,
                      [this, request, reply] { AddTraces(request->id(), reply->mutable_traces()); });
}

grpc::ServerUnaryReactor* CoordinatorService::ReportTask(Context* context, const v1::ReportTaskRequest* request,
                                                         v1::ReportTaskReply* reply) {
  return ApplyToState(Rpc::kReportTask, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::ReportRecords(Context* context, const v1::ReportRecordsRequest* request,
                                                            v1::ReportRecordsReply* reply) {
  return ApplyToState(Rpc::kReportRecords, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::PutIndex(Context* context, const v1::PutIndexRequest* request,
                                                       v1::PutIndexReply* reply) {
  return WithFiles(Rpc::kPutIndex, context, [this, request] {
    FileInfo file;
    const absl::Status put = blobs_->Put(request->content_hash(), request->blob(), &file);
    MutexLock lock(&turns_mutex_);
    turns_.End(IndexTurns::KeyOf(request->content_hash(), file));
    return put;
  });
}

absl::Status CoordinatorService::FindIndex(const v1::GetIndexRequest& request, v1::GetIndexReply* reply) {
  const FileInfo file{request.file().size(), request.file().mtime_ns(), request.file().tag()};
  absl::StatusOr<std::string> blob =
      request.has_file() ? blobs_->Get(request.content_hash(), file) : blobs_->Get(request.content_hash());
  const uint64_t key = IndexTurns::KeyOf(request.content_hash(), file);
  MutexLock lock(&turns_mutex_);
  if (blob.ok()) {
    reply->set_blob(*std::move(blob));
    turns_.End(key);
    return absl::OkStatus();
  }
  if (!absl::IsNotFound(blob.status()) || !request.has_file()) return blob.status();
  if (request.give_up()) {
    turns_.End(key);
    return absl::OkStatus();
  }
  const IndexTurns::Answer answer = turns_.Ask(key, request.worker_id(), file.size, Clock::Real()->Now());
  reply->set_build(answer.build);
  reply->set_ask_again_ms(static_cast<uint32_t>(answer.ask_again / kMillisecond));
  reply->set_builder(answer.builder);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* CoordinatorService::GetIndex(Context* context, const v1::GetIndexRequest* request,
                                                       v1::GetIndexReply* reply) {
  return WithFiles(Rpc::kGetIndex, context, [this, request, reply] { return FindIndex(*request, reply); });
}

grpc::ServerUnaryReactor* CoordinatorService::OpenSession(Context* context, const v1::OpenSessionRequest* request,
                                                          v1::OpenSessionReply* reply) {
  return ApplyToState(Rpc::kOpenSession, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::ReportSession(Context* context, const v1::ReportSessionRequest* request,
                                                            v1::ReportSessionReply* reply) {
  return ApplyToState(Rpc::kReportSession, context, request, reply, [this, request, reply] {
    AddTraces(SessionLabel(request->session_id()), reply->mutable_traces());
  });
}

grpc::ServerUnaryReactor* CoordinatorService::CloseSession(Context* context, const v1::CloseSessionRequest* request,
                                                           v1::CloseSessionReply* reply) {
  return ApplyToState(Rpc::kCloseSession, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::JudgeRecords(Context* context, const v1::JudgeRecordsRequest* request,
                                                           v1::JudgeRecordsReply* reply) {
  return ApplyToState(Rpc::kJudgeRecords, context, request, reply);
}

}  // namespace penstock
