#include "client/session/open.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/cgroup.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "net/address.h"
#include "pipeline/plan/state.h"

namespace penstock {
namespace {

constexpr uint16_t kDefaultPort = 7070;
// A coordinator that cannot be reached is tried for this long (less when open_timeout is less): it may be starting.
constexpr absl::Duration kReachWithin = absl::Seconds(10);
constexpr absl::Duration kRetryEvery = absl::Milliseconds(200);
constexpr absl::Duration kWatchPiece = absl::Seconds(5);

absl::StatusOr<std::string> CoordinatorAddress(const ConnectOptions& connect) {
  std::string address = connect.coordinator;
  if (address.empty()) {
    const char* from_environment = std::getenv("PENSTOCK_COORDINATOR");
    address = from_environment != nullptr && *from_environment != '\0' ? from_environment : "localhost";
  }
  PS_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address, kDefaultPort));
  return parsed.ToString();
}

// What keeps a job from being read, in words, for a timeout's message.
std::string Progress(const v1::Job& job) {
  std::string text;
  if (job.state() == v1::PREPARING) {
    text = absl::StrCat("job ", job.name(), " is being prepared: ", job.shards_indexed(), " of ", job.shards_total(),
                        " shards are indexed");
  } else {
    text = absl::StrCat("job ", job.name(), " is ready, but no worker serves it");
  }
  if (!job.waiting().empty()) absl::StrAppend(&text, "; it waits: ", job.waiting());
  return text;
}

// FAILED and CANCELLED are told; a job is open to reading when it is READY and some worker is there.
absl::StatusOr<bool> IsOpen(const v1::Job& job) {
  if (job.state() == v1::FAILED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name(), " failed: ", job.error()));
  }
  if (job.state() == v1::CANCELLED) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name(), " was cancelled"));
  }
  return job.state() == v1::READY && job.view().ranges_size() > 0;
}

absl::StatusOr<v1::OpenSessionReply> Reach(CoordinatorClient* coordinator, const v1::OpenSessionRequest& request,
                                           absl::Time deadline) {
  const absl::Time give_up = std::min(deadline, absl::Now() + kReachWithin);
  for (;;) {
    const absl::Duration left = std::max(deadline - absl::Now(), absl::Milliseconds(50));
    auto reply = coordinator->OpenSession(request, std::min(left, kReachWithin));
    if (!absl::IsUnavailable(reply.status()) && !absl::IsDeadlineExceeded(reply.status())) return reply;
    if (absl::Now() + kRetryEvery >= give_up) {
      return absl::UnavailableError(
          absl::StrCat(reply.status().message(), "; is the coordinator running, and its address right?"));
    }
    absl::SleepFor(kRetryEvery);
  }
}

// Follows the job until it is open.
absl::Status WaitUntilOpen(CoordinatorClient* coordinator, absl::Time deadline, const std::string& name,
                           JobMirror* watched) {
  absl::Status away;
  for (;;) {
    const WatchedJob* const known = watched->Find(name);
    const v1::Job job = known != nullptr ? ToJob(*known) : v1::Job();
    PS_ASSIGN_OR_RETURN(const bool open, IsOpen(job));
    if (open) return absl::OkStatus();
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat(Progress(job), away.ok() ? "" : absl::StrCat("; ", away.message())));
    }
    const absl::Duration wait = std::min(left, kWatchPiece);
    auto reply = coordinator->Watch(watched->NextRequest(static_cast<uint32_t>(absl::ToInt64Milliseconds(wait))),
                                    wait + absl::Seconds(1));
    const absl::StatusOr<JobChanges> changes = reply.ok() ? watched->Apply(*reply) : reply.status();
    if (!changes.ok()) {
      away = changes.status();
      watched->Lost();
      absl::SleepFor(std::min(left, kRetryEvery));
      continue;
    }
    away = absl::OkStatus();
    if (!changes->removed.empty()) {
      return absl::FailedPreconditionError(absl::StrCat("job ", name, " was cancelled"));
    }
  }
}

// Rows are mixed in aligned groups, which no border between ranks or batches may cut.
absl::Status CheckGroups(const JobInfo& job, const Steps& steps) {
  if (!job.format->mix.has_value()) return absl::OkStatus();
  const uint64_t group = job.format->mix->plan.group, world_size = steps.world_size();
  if (steps.step_size() % (group * world_size) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "job ", job.name, " mixes rows in groups of ", group, " (mix.group), and a global batch of ", steps.step_size(),
      " rows over ", world_size, world_size == 1 ? " rank" : " ranks", " gives ", steps.step_size() / world_size,
      " rows to each, which cuts groups; choose a batch size that is a multiple of ", group * world_size));
}

absl::Status CheckStart(const JobInfo& job, uint64_t position) {
  if (!job.format->mix.has_value() || position == job.positions) return absl::OkStatus();
  const uint64_t group = job.format->mix->plan.group;
  if (position % group == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the state's position ", position, " is inside a group of ", group, " rows, which job ", job.name,
                   " mixes (mix.group): the state was saved without them; begin at an epoch's start, or go on with the "
                   "job as it was"));
}

}  // namespace

uint64_t WindowSteps(uint64_t prefetch_steps, uint64_t prefetch_bytes, uint64_t step_bytes) {
  return std::max<uint64_t>(2, std::min(prefetch_steps, prefetch_bytes / std::max<uint64_t>(1, step_bytes)));
}

absl::StatusOr<OpenedSession> OpenSession(const ConnectOptions& connect, const ReaderOptions& options) {
  const absl::Time deadline = absl::Now() + connect.open_timeout;
  if (options.world_size == 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " of a world size of ", options.world_size, ": ranks count from 0"));
  }
  if (options.job.empty()) return absl::InvalidArgumentError("no job is named (ReaderOptions::job)");
  std::optional<SessionState> saved;
  if (!options.state.empty()) {
    PS_ASSIGN_OR_RETURN(saved, ParseState(options.state));
  }
  const Cursor start = saved.has_value() ? saved->cursor() : Cursor{options.epoch, 0};

  PS_ASSIGN_OR_RETURN(const std::string address, CoordinatorAddress(connect));
  auto coordinator = std::make_shared<CoordinatorClient>(address);
  v1::OpenSessionRequest request;
  request.set_job(options.job);
  request.set_rank(options.rank);
  request.set_world_size(options.world_size);
  request.set_epoch(start.epoch);
  request.set_position(start.position);
  request.set_group(options.group);
  request.set_host(HostName());
  request.set_batch_size(options.batch_size);
  request.set_version(std::string(Version()));
  PS_ASSIGN_OR_RETURN(v1::OpenSessionReply session, Reach(coordinator.get(), request, deadline));

  // From here on the coordinator has a session, which is closed when it cannot be used.
  auto make = [&]() -> absl::StatusOr<OpenedSession> {
    PS_RETURN_IF_ERROR(CheckRelease(absl::StrCat("the coordinator at ", address), session.version(), "this client"));
    JobMirror watched(options.job);
    PS_RETURN_IF_ERROR(watched.Apply(session.job(), session.revision()).status());
    PS_RETURN_IF_ERROR(WaitUntilOpen(coordinator.get(), deadline, options.job, &watched));
    const v1::Job opened_job = ToJob(*watched.Find(options.job));
    watched.LetMetadataGo(options.job);  // what is needed of them is in JobInfo
    PS_ASSIGN_OR_RETURN(JobInfo job, MakeJobInfo(opened_job));
    const uint64_t step_rows = options.batch_size != 0 ? options.batch_size : job.batch_size;
    PS_ASSIGN_OR_RETURN(const Steps steps, Steps::Create(job.positions, step_rows, job.last, options.world_size));
    PS_RETURN_IF_ERROR(CheckGroups(job, steps));
    if (saved.has_value()) {
      SessionState current = *saved;
      current.version = kStateVersion;
      current.order_fingerprint = job.order_fingerprint;
      current.pipeline_fingerprint = job.pipeline_fingerprint;
      PS_RETURN_IF_ERROR(CheckResume(*saved, current, options.accept_new_pipeline));
      if (saved->position > job.positions) {
        return absl::InvalidArgumentError(
            absl::StrCat("the state's position ", saved->position, " is beyond the epoch's ", job.positions, " rows"));
      }
      PS_RETURN_IF_ERROR(CheckStart(job, saved->position));
    }
    PS_ASSIGN_OR_RETURN(auto view, MakeView(opened_job.view(), job.offsets->num_records()));

    SessionOptions opened;
    opened.rank = options.rank;
    opened.start = start;
    opened.epochs = options.epochs;
    // Ragged columns: as large as the records they come from, which is all that is known beforehand.
    const uint64_t row_bytes = job.format->memory_bytes + (job.format->ragged ? job.mean_record_bytes : 0);
    const uint64_t step_bytes = row_bytes * (steps.step_size() / steps.world_size());
    opened.window_steps = WindowSteps(options.prefetch_steps, options.prefetch_bytes, step_bytes);
    opened.copy_threads = options.copy_threads > 0 ? options.copy_threads : std::max(1, AvailableCpus() / 4);
    // What the window holds, and two batches that the trainer has in hand.
    opened.max_free_bytes = (opened.window_steps + 2) * (step_bytes + step_bytes / 4 + 65536);
    opened.allocator = options.allocator;
    opened.open = request;
    opened.session_id = session.session_id();
    opened.watched = std::move(watched);
    return OpenedSession{std::move(job), steps, std::move(opened), coordinator, std::move(view)};
  };
  absl::StatusOr<OpenedSession> opened = make();
  if (!opened.ok()) {
    v1::CloseSessionRequest close;
    close.set_session_id(session.session_id());
    coordinator->CloseSession(close, absl::Milliseconds(500)).IgnoreError();
  }
  return opened;
}

}  // namespace penstock
