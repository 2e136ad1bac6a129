#include "tests/support/cluster/control.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/status_macros.h"
#include "net/call_token.h"
#include "net/channel.h"
#include "net/grpc_status.h"
#include "net/job_mirror.h"

namespace penstock::support {
namespace {

// A disk that other processes write to may take many seconds to store a change.
constexpr absl::Duration kStoreTimeout = absl::Seconds(60);

}  // namespace

Control::Control(const std::string& address, const net::ClientSecurity& security)
    : address_(address),
      security_(security),
      stub_(v1::Coordinator::NewStub(net::MakeChannel(address, net::ChannelUse::kCalls, security))) {}

void Control::Prepare(grpc::ClientContext* context, absl::Duration timeout) const {
  net::PrepareCall(context, timeout);
  net::AddToken(context, security_.TokenFor(address_).value_or(""));
}

absl::StatusOr<v1::StatusReply> Control::Status() {
  grpc::ClientContext context;
  Prepare(&context, absl::Seconds(5));
  v1::StatusReply reply;
  const grpc::Status status = stub_->GetStatus(&context, {}, &reply);
  if (!status.ok()) return net::FromGrpc(status, address_);
  return reply;
}

absl::StatusOr<v1::Job> Control::GetJob(const std::string& name) {
  grpc::ClientContext context;
  Prepare(&context, absl::Seconds(5));
  net::JobMirror watched(name);
  v1::WatchReply reply;
  const grpc::Status status = stub_->Watch(&context, watched.NextRequest(1000), &reply);
  if (!status.ok()) return net::FromGrpc(status, address_);
  PS_ASSIGN_OR_RETURN(const net::JobChanges changes, watched.Apply(reply));
  if (changes.jobs.empty()) return absl::NotFoundError(name);
  return net::ToJob(changes.jobs.front());
}

v1::QuarantineReply Control::Quarantine(const std::string& job) {
  grpc::ClientContext context;
  Prepare(&context, absl::Seconds(20));
  v1::QuarantineRequest request;
  request.set_job(job);
  v1::QuarantineReply reply;
  const grpc::Status status = stub_->GetQuarantine(&context, request, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

absl::Status Control::BeginSubmit(const v1::JobSpec& job, bool replace) { return Register(job, replace).status(); }

absl::StatusOr<uint64_t> Control::Register(const v1::JobSpec& job, bool replace) {
  v1::SubmitRequest request;
  *request.mutable_spec() = job;
  request.set_replace(replace);
  grpc::ClientContext context;
  Prepare(&context, kStoreTimeout);
  v1::SubmitReply reply;
  const grpc::Status status = stub_->Submit(&context, request, &reply);
  if (!status.ok()) return net::FromGrpc(status, address_);
  return reply.job().uid();
}

absl::Status Control::Submit(const v1::JobSpec& job, bool replace) {
  PS_ASSIGN_OR_RETURN(const uint64_t uid, Register(job, replace));
  absl::Status result = absl::DeadlineExceededError("the job is not prepared");
  WaitUntil(
      [&] {
        const auto now = GetJob(job.name());
        if (!now.ok()) {
          result = now.status();
          return false;
        }
        if (now->uid() != uid) return false;  // still the submission to be replaced
        if (now->state() == v1::FAILED) {
          result = absl::FailedPreconditionError(now->error());
          return true;
        }
        if (now->state() == v1::READY) result = absl::OkStatus();
        return now->state() == v1::READY;
      },
      std::chrono::minutes(2));
  return result;
}

absl::Status Control::Drain(const std::string& worker) {
  grpc::ClientContext context;
  Prepare(&context, kStoreTimeout);
  v1::DrainRequest request;
  request.set_worker(worker);
  v1::DrainReply reply;
  return net::FromGrpc(stub_->Drain(&context, request, &reply), address_);
}

absl::Status Control::Cancel(const std::string& job) {
  grpc::ClientContext context;
  Prepare(&context, kStoreTimeout);
  v1::CancelRequest request;
  request.set_job(job);
  v1::CancelReply reply;
  return net::FromGrpc(stub_->Cancel(&context, request, &reply), address_);
}

bool Control::WaitForLive(int workers) {
  return WaitUntil([&] {
    const auto status = Status();
    int live = 0;
    if (status.ok()) {
      for (const v1::WorkerStatus& worker : status->workers()) live += worker.state() == v1::WorkerStatus::LIVE;
    }
    return live == workers;
  });
}

bool Control::WaitForOwners(const std::string& job, int workers) {
  return WaitUntil([&] {
    const auto now = GetJob(job);
    std::set<uint32_t> owners;
    if (now.ok()) {
      for (const v1::View::Range& range : now->view().ranges()) owners.insert(range.owner());
    }
    return static_cast<int>(owners.size()) == workers;
  });
}

bool Control::WaitForState(const std::string& worker, v1::WorkerStatus::State state) {
  return WaitUntil([&] {
    const auto status = Status();
    if (!status.ok()) return false;
    for (const v1::WorkerStatus& known : status->workers()) {
      if (known.id() == worker) return known.state() == state;
    }
    return false;
  });
}

}  // namespace penstock::support
