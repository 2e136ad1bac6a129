#include "server/coordinator/service/coordinator_service.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "net/grpc_status.h"
#include "server/coordinator/service/request_object.h"
#include "transport/peer.h"

namespace penstock::coordinator {
namespace {

absl::Status Busy() { return absl::ResourceExhaustedError("the coordinator has too many requests waiting; try again"); }

constexpr size_t kMaxWaitingFileWork = 256;

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

// Requests that name a job that the caller must be allowed to read. The requests of other RPCs name no job, or their
// callers are not limited to jobs.
template <typename Request>
constexpr bool kNamesJob =
    std::is_same_v<Request, v1::OpenSessionRequest> || std::is_same_v<Request, v1::ExplainRequest> ||
    std::is_same_v<Request, v1::WatchRequest> || std::is_same_v<Request, v1::StatusRequest>;

// Removes the jobs that the caller may not read, the other callers, and the findings, which name folders of others.
void OmitOthers(const transport::Peer& caller, v1::StatusReply* status) {
  if (caller.jobs.empty()) return;
  status->clear_rejected();
  status->clear_findings();
  for (v1::WorkerStatus& worker : *status->mutable_workers()) {
    worker.clear_rejected();
    worker.clear_findings();
  }
  auto* const jobs = status->mutable_jobs();
  jobs->erase(std::remove_if(jobs->begin(), jobs->end(),
                             [&](const v1::StatusReply::JobStatus& job) { return !caller.MayAccess(job.name()).ok(); }),
              jobs->end());
}

}  // namespace

// A call that waits for file work. It is finished in any case, because file work may be dropped before its turn.
class CoordinatorService::FileCall {
 public:
  FileCall(grpc::ServerUnaryReactor* reactor, Nanos deadline, transport::Peer caller)
      : reactor_(reactor), deadline_(deadline), caller_(std::move(caller)) {}
  FileCall(const FileCall&) = delete;
  FileCall& operator=(const FileCall&) = delete;
  ~FileCall() {
    if (reactor_ != nullptr) reactor_->Finish(net::ToGrpc(Busy()));
  }
  void Finish(const absl::Status& status) { std::exchange(reactor_, nullptr)->Finish(net::ToGrpc(status)); }
  Nanos deadline() const { return deadline_; }
  const transport::Peer& caller() const { return caller_; }

 private:
  grpc::ServerUnaryReactor* reactor_;
  const Nanos deadline_;
  const transport::Peer caller_;
};

Nanos CoordinatorService::DeadlineOf(const Context& context) const {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left > std::chrono::hours(24)) return ControlLoop::kNoDeadline;
  return clock_->Now() + std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
}

void CoordinatorService::Record(server::Rpc rpc, const transport::Peer& caller, std::string_view object,
                                const absl::Status& outcome) const {
  if (record_call_ != nullptr)
    record_call_(caller, server::RpcTable()[static_cast<size_t>(rpc)].method, object, outcome);
}

void CoordinatorService::Note(const transport::Peer& caller, const absl::Status& status) const {
  if (!absl::IsResourceExhausted(status) && !absl::IsPermissionDenied(status)) return;
  rejections_->Add(server::RejectionOf(caller, status));
}

template <typename Request>
absl::Status CoordinatorService::CheckJob(server::Rpc rpc, const transport::Peer& caller,
                                          const Request& request) const {
  if constexpr (kNamesJob<Request>) {
    absl::Status may = caller.MayAccess(request.job());
    if (!may.ok()) Record(rpc, caller, request.job(), may);
    Note(caller, may);
    return may;
  } else {
    return absl::OkStatus();
  }
}

// Request and reply live until the reactor is finished.
template <typename Req, typename Rep>
grpc::ServerUnaryReactor* CoordinatorService::ApplyToState(server::Rpc rpc, Context* context, const Req* request,
                                                           Rep* reply) {
  return gate_.Enter(rpc, context, ObjectOf(*request), [&](const transport::Peer& caller) {
    Reactor* reactor = context->DefaultReactor();
    if (const absl::Status may = CheckJob(rpc, caller, *request); !may.ok()) {
      reactor->Finish(net::ToGrpc(may));
      return reactor;
    }
    const auto done = [this, reactor, reply, caller](const absl::Status& status, Reply* made) {
      if (status.ok()) *reply = std::move(std::get<Rep>(*made));
      Note(caller, status);
      reactor->Finish(net::ToGrpc(status));
    };
    loop_->Apply(*request, DeadlineOf(*context), done, caller);
    return reactor;
  });
}

template <typename Req, typename Rep>
grpc::ServerUnaryReactor* CoordinatorService::Control(server::Rpc rpc, Context* context, const Req* request,
                                                      Rep* reply) {
  return gate_.Enter(rpc, context, ObjectOf(*request), [&](const transport::Peer& peer) {
    Reactor* reactor = context->DefaultReactor();
    const auto done = [this, reactor, reply, rpc, peer, object = std::string(ObjectOf(*request))](
                          const absl::Status& status, Reply* made) {
      if (status.ok()) *reply = std::move(std::get<Rep>(*made));
      Record(rpc, peer, object, status);
      reactor->Finish(net::ToGrpc(status));
    };
    loop_->Apply(*request, DeadlineOf(*context), done, peer);
    return reactor;
  });
}

template <typename Req, typename Ask>
grpc::ServerUnaryReactor* CoordinatorService::ReadState(server::Rpc rpc, Context* context, const Req* request,
                                                        Ask ask) {
  return gate_.Enter(rpc, context, ObjectOf(*request), [&](const transport::Peer& caller) {
    Reactor* reactor = context->DefaultReactor();
    const bool queued = loop_->Read([reactor, ask, caller](const CoordinatorState& state, Nanos now) {
      reactor->Finish(net::ToGrpc(ask(state, now, caller)));
    });
    if (!queued) reactor->Finish(net::ToGrpc(Busy()));
    return reactor;
  });
}

template <typename Work>
grpc::ServerUnaryReactor* CoordinatorService::WithFiles(server::Rpc rpc, Context* context, Work work) {
  return gate_.Enter(rpc, context, "", [&](const transport::Peer& caller) {
    Reactor* reactor = context->DefaultReactor();
    auto call = std::make_shared<FileCall>(reactor, DeadlineOf(*context), caller);
    files_->TryPost([call = std::move(call), work]() mutable { work(std::move(call)); }, kMaxWaitingFileWork);
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::Submit(Context* context, const v1::SubmitRequest* request,
                                                     v1::SubmitReply* reply) {
  return Control(server::Rpc::kSubmit, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Cancel(Context* context, const v1::CancelRequest* request,
                                                     v1::CancelReply* reply) {
  return Control(server::Rpc::kCancel, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Delete(Context* context, const v1::DeleteRequest* request,
                                                     v1::DeleteReply* reply) {
  return Control(server::Rpc::kDelete, context, request, reply);
}

// The audit log has the request that starts the purge, and requests that are rejected.
grpc::ServerUnaryReactor* CoordinatorService::Purge(Context* context, const v1::PurgeRequest* request,
                                                    v1::PurgeReply* reply) {
  return gate_.Enter(server::Rpc::kPurge, context, ObjectOf(*request), [&](const transport::Peer& peer) {
    Reactor* reactor = context->DefaultReactor();
    const auto done = [this, reactor, request, reply, peer](const absl::Status& status, Reply* made) {
      if (status.ok()) {
        auto& answer = std::get<PurgeAnswer>(*made);
        *reply = std::move(answer.reply);
        if (answer.blobs.has_value()) PurgeBlobs(reply->job_uid(), *std::move(answer.blobs));
      }
      if (request->job_uid() == 0 || !status.ok()) Record(server::Rpc::kPurge, peer, request->job(), status);
      reactor->Finish(net::ToGrpc(status));
    };
    loop_->Apply(*request, DeadlineOf(*context), done, peer);
    return reactor;
  });
}

// If too much file work waits, the next request of the purge asks for it again.
void CoordinatorService::PurgeBlobs(uint64_t job_uid, std::vector<uint64_t> blobs) {
  const auto work = [blobs_of = blobs_, loop = loop_, job_uid, blobs = std::move(blobs)] {
    const absl::StatusOr<uint64_t> freed = blobs_of->Remove(blobs);
    loop->Apply(
        EndOwnPurge{job_uid, freed.status(), freed.value_or(0)}, ControlLoop::kNoDeadline,
        [](const absl::Status&, Reply*) {}, transport::Peer::InProcess());
  };
  files_->TryPost(work, kMaxWaitingFileWork);
}

grpc::ServerUnaryReactor* CoordinatorService::Pause(Context* context, const v1::PauseRequest* request,
                                                    v1::PauseReply* reply) {
  return Control(server::Rpc::kPause, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Resume(Context* context, const v1::ResumeRequest* request,
                                                     v1::ResumeReply* reply) {
  return Control(server::Rpc::kResume, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::GetStatus(Context* context, const v1::StatusRequest* request,
                                                        v1::StatusReply* reply) {
  return ReadState(server::Rpc::kGetStatus, context, request,
                   [this, request, reply](const CoordinatorState& state, Nanos now, const transport::Peer& caller) {
                     if (request->job().empty()) {
                       *reply = state.Status(now);
                     } else {
                       PS_RETURN_IF_ERROR(CheckJob(server::Rpc::kGetStatus, caller, *request));
                       PS_ASSIGN_OR_RETURN(*reply, state.StatusOf(request->job(), now, caller));
                     }
                     complete_status_(reply);
                     reply->set_caller_name(caller.name);
                     reply->set_caller_role(caller.role);
                     OmitOthers(caller, reply);
                     return absl::OkStatus();
                   });
}

grpc::ServerUnaryReactor* CoordinatorService::ListShards(Context* context, const v1::ListShardsRequest* request,
                                                         v1::ListShardsReply* reply) {
  return ReadState(server::Rpc::kListShards, context, request,
                   [request, reply](const CoordinatorState& state, Nanos, const transport::Peer&) {
                     absl::StatusOr<v1::ListShardsReply> shards = state.ListShards(*request);
                     if (shards.ok()) *reply = *std::move(shards);
                     return shards.status();
                   });
}

grpc::ServerUnaryReactor* CoordinatorService::GetQuarantine(Context* context, const v1::QuarantineRequest* request,
                                                            v1::QuarantineReply* reply) {
  return ReadState(server::Rpc::kGetQuarantine, context, request,
                   [request, reply](const CoordinatorState& state, Nanos, const transport::Peer&) {
                     absl::StatusOr<v1::QuarantineReply> quarantine = state.GetQuarantine(*request);
                     if (quarantine.ok()) *reply = *std::move(quarantine);
                     return quarantine.status();
                   });
}

grpc::ServerUnaryReactor* CoordinatorService::Explain(Context* context, const v1::ExplainRequest* request,
                                                      v1::ExplainReply* reply) {
  return ReadState(server::Rpc::kExplain, context, request,
                   [this, request, reply](const CoordinatorState& state, Nanos now, const transport::Peer& caller) {
                     PS_RETURN_IF_ERROR(CheckJob(server::Rpc::kExplain, caller, *request));
                     absl::StatusOr<v1::ExplainReply> explained = state.Explain(*request, now, caller);
                     if (explained.ok()) *reply = *std::move(explained);
                     return explained.status();
                   });
}

grpc::ServerUnaryReactor* CoordinatorService::StartTrace(Context* context, const v1::StartTraceRequest* request,
                                                         v1::StartTraceReply* reply) {
  return Control(server::Rpc::kStartTrace, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::GetTrace(Context* context, const v1::GetTraceRequest* request,
                                                       v1::GetTraceReply* reply) {
  return ApplyToState(server::Rpc::kGetTrace, context, request, reply);
}

// The times in the reply are those of receipt and sending, which include the time in the queue of the loop.
grpc::ServerUnaryReactor* CoordinatorService::PutTrace(Context* context, const v1::PutTraceRequest* request,
                                                       v1::PutTraceReply* reply) {
  return gate_.Enter(server::Rpc::kPutTrace, context, ObjectOf(*request), [&](const transport::Peer& caller) {
    Reactor* reactor = context->DefaultReactor();
    const Nanos received = clock_->Now();
    const auto done = [this, reactor, reply, received](const absl::Status& status, Reply*) {
      reply->set_received(received);
      reply->set_sent(clock_->Now());
      reactor->Finish(net::ToGrpc(status));
    };
    loop_->Apply(*request, DeadlineOf(*context), done, caller);
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::Drain(Context* context, const v1::DrainRequest* request,
                                                    v1::DrainReply* reply) {
  return Control(server::Rpc::kDrain, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Revoke(Context* context, const v1::RevokeRequest* request,
                                                     v1::RevokeReply* reply) {
  return Control(server::Rpc::kRevoke, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::StartSupport(Context* context, const v1::StartSupportRequest* request,
                                                           v1::StartSupportReply* reply) {
  return gate_.Enter(server::Rpc::kStartSupport, context, ObjectOf(*request), [&](const transport::Peer& peer) {
    Reactor* reactor = context->DefaultReactor();
    const auto done = [this, reactor, reply, peer](const absl::Status& status, Reply* made) {
      if (status.ok()) {
        *reply = std::move(std::get<v1::StartSupportReply>(*made));
        CollectOwnSupport(reply->id());
      }
      Record(server::Rpc::kStartSupport, peer, "", status);
      reactor->Finish(net::ToGrpc(status));
    };
    loop_->Apply(*request, DeadlineOf(*context), done, peer);
    return reactor;
  });
}

void CoordinatorService::CollectOwnSupport(uint64_t id) {
  if (collect_ == nullptr) return;
  collect_([loop = loop_, id](v1::PutSupportRequest files) {
    files.set_id(id);
    loop->Apply(
        std::move(files), ControlLoop::kNoDeadline, [](const absl::Status&, Reply*) {}, transport::Peer::InProcess());
  });
}

grpc::ServerUnaryReactor* CoordinatorService::GetSupport(Context* context, const v1::GetSupportRequest* request,
                                                         v1::GetSupportReply* reply) {
  return ApplyToState(server::Rpc::kGetSupport, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::PutSupport(Context* context, const v1::PutSupportRequest* request,
                                                         v1::PutSupportReply* reply) {
  return gate_.Enter(server::Rpc::kPutSupport, context, ObjectOf(*request), [&](const transport::Peer& caller) {
    Reactor* reactor = context->DefaultReactor();
    if (request->worker_id().empty()) {  // that is this process
      reactor->Finish(net::ToGrpc(absl::InvalidArgumentError("PutSupport: worker_id is empty")));
      return reactor;
    }
    const auto done = [reactor, reply](const absl::Status& status, Reply* made) {
      if (status.ok()) *reply = std::move(std::get<v1::PutSupportReply>(*made));
      reactor->Finish(net::ToGrpc(status));
    };
    loop_->Apply(*request, DeadlineOf(*context), done, caller);
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::Describe(Context* context, const v1::DescribeRequest* request,
                                                       v1::DescribeReply* reply) {
  return ReadState(server::Rpc::kDescribe, context, request,
                   [this, request, reply](const CoordinatorState& state, Nanos now, const transport::Peer& caller) {
                     absl::StatusOr<v1::DescribeReply> described = state.Describe(*request, caller, now);
                     if (described.ok()) {
                       *reply = *std::move(described);
                     } else if (absl::IsPermissionDenied(described.status())) {
                       Record(server::Rpc::kDescribe, caller, request->name(), described.status());
                       Note(caller, described.status());
                     }
                     return described.status();
                   });
}

grpc::ServerUnaryReactor* CoordinatorService::Watch(Context* context, const grpc::ByteBuffer* request,
                                                    grpc::ByteBuffer* reply) {
  return gate_.Enter(server::Rpc::kWatch, context, "", [&](const transport::Peer& caller) -> Reactor* {
    const uint64_t id = next_watch_.fetch_add(1);
    Reactor* reactor = new WatchReactor(loop_, id);
    v1::WatchRequest asked;
    grpc::ByteBuffer bytes(*request);  // a copy, because parsing consumes it
    if (!grpc::SerializationTraits<v1::WatchRequest>::Deserialize(&bytes, &asked).ok()) {
      reactor->Finish(net::ToGrpc(absl::InvalidArgumentError("Watch: the request is no WatchRequest")));
      return reactor;
    }
    if (const absl::Status may = CheckJob(server::Rpc::kWatch, caller, asked); !may.ok()) {
      reactor->Finish(net::ToGrpc(may));
      return reactor;
    }
    loop_->Watch(id, asked, [reactor, reply](absl::StatusOr<std::shared_ptr<const WatchAnswer>> answer) {
      if (answer.ok()) *reply = BufferOf(*answer);
      reactor->Finish(net::ToGrpc(answer.status()));
    });
    return reactor;
  });
}

grpc::ServerUnaryReactor* CoordinatorService::RegisterWorker(Context* context, const v1::RegisterWorkerRequest* request,
                                                             v1::RegisterWorkerReply* reply) {
  return ApplyToState(server::Rpc::kRegisterWorker, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::Heartbeat(Context* context, const v1::HeartbeatRequest* request,
                                                        v1::HeartbeatReply* reply) {
  return ApplyToState(server::Rpc::kHeartbeat, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::ReportTask(Context* context, const v1::ReportTaskRequest* request,
                                                         v1::ReportTaskReply* reply) {
  return ApplyToState(server::Rpc::kReportTask, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::ReportRecords(Context* context, const v1::ReportRecordsRequest* request,
                                                            v1::ReportRecordsReply* reply) {
  return ApplyToState(server::Rpc::kReportRecords, context, request, reply);
}

void CoordinatorService::EndTurn(EndIndexTurn turn, const absl::Status& status, std::shared_ptr<FileCall> call) {
  // If too many requests wait, the turn ends by itself later.
  loop_->Apply(std::move(turn), ControlLoop::kNoDeadline,
               [call = std::move(call), status](const absl::Status&, Reply*) { call->Finish(status); });
}

void CoordinatorService::PutIndexFile(const v1::PutIndexRequest& request, std::shared_ptr<FileCall> call) {
  FileInfo file;
  const absl::Status put = blobs_->Put(request.content_hash(), request.blob(), &file);
  // A rejected blob names no file. Its builder ends its own turn (give_up).
  if (file == FileInfo()) return call->Finish(put);
  EndTurn({IndexTurns::KeyOf(request.content_hash(), file)}, put, std::move(call));
}

grpc::ServerUnaryReactor* CoordinatorService::PutIndex(Context* context, const v1::PutIndexRequest* request,
                                                       v1::PutIndexReply*) {
  return WithFiles(server::Rpc::kPutIndex, context,
                   [this, request](std::shared_ptr<FileCall> call) { PutIndexFile(*request, std::move(call)); });
}

void CoordinatorService::FindIndex(const v1::GetIndexRequest& request, v1::GetIndexReply* reply,
                                   std::shared_ptr<FileCall> call) {
  const FileInfo file{request.file().size(), request.file().mtime_ns(), request.file().tag()};
  absl::StatusOr<std::string> blob =
      request.has_file() ? blobs_->Get(request.content_hash(), file) : blobs_->Get(request.content_hash());
  const uint64_t key = IndexTurns::KeyOf(request.content_hash(), file);
  if (blob.ok()) {
    reply->set_blob(*std::move(blob));
    return EndTurn({key}, absl::OkStatus(), std::move(call));
  }
  if (!absl::IsNotFound(blob.status()) || !request.has_file()) return call->Finish(blob.status());
  if (request.give_up()) return EndTurn({key, request.worker_id()}, absl::OkStatus(), std::move(call));
  const Nanos deadline = call->deadline();
  transport::Peer caller = call->caller();
  loop_->Apply(
      AskIndexTurn{key, request.worker_id(), file.size}, deadline,
      [reply, call = std::move(call)](const absl::Status& status, Reply* made) {
        if (status.ok()) {
          const auto& turn = std::get<IndexTurns::Answer>(*made);
          reply->set_build(turn.build);
          reply->set_ask_again_ms(static_cast<uint32_t>(turn.ask_again / kMillisecond));
          reply->set_builder(turn.builder);
        }
        call->Finish(status);
      },
      std::move(caller));
}

grpc::ServerUnaryReactor* CoordinatorService::GetIndex(Context* context, const v1::GetIndexRequest* request,
                                                       v1::GetIndexReply* reply) {
  return WithFiles(server::Rpc::kGetIndex, context, [this, request, reply](std::shared_ptr<FileCall> call) {
    FindIndex(*request, reply, std::move(call));
  });
}

grpc::ServerUnaryReactor* CoordinatorService::OpenSession(Context* context, const v1::OpenSessionRequest* request,
                                                          v1::OpenSessionReply* reply) {
  return ApplyToState(server::Rpc::kOpenSession, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::ReportSession(Context* context, const v1::ReportSessionRequest* request,
                                                            v1::ReportSessionReply* reply) {
  return ApplyToState(server::Rpc::kReportSession, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::CloseSession(Context* context, const v1::CloseSessionRequest* request,
                                                           v1::CloseSessionReply* reply) {
  return ApplyToState(server::Rpc::kCloseSession, context, request, reply);
}

grpc::ServerUnaryReactor* CoordinatorService::JudgeRecords(Context* context, const v1::JudgeRecordsRequest* request,
                                                           v1::JudgeRecordsReply* reply) {
  return ApplyToState(server::Rpc::kJudgeRecords, context, request, reply);
}

}  // namespace penstock::coordinator
