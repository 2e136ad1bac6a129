// Collects the input of server/coordinator/explain, which decides what limits a job.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "net/job_mirror.h"
#include "pipeline/plan/job_order.h"
#include "server/coordinator/explain/explain.h"
#include "server/coordinator/explain/observed.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

// Jobs in one answer to a request that names no job.
constexpr int kMostJobs = 64;
// A float column with at least this many elements per row counts as large.
constexpr double kLargeColumn = 4096;
// Reports come each second: a reader that is silent for this long has stopped.
constexpr Nanos kSilent = 10 * kSecond;
// After this time only `penstock workers` lists a lost worker.
constexpr Nanos kTellLostFor = 600 * kSecond;
// Period of the explanation if the request specifies none.
constexpr uint32_t kUsualSeconds = 10;
// The value of MessageStream::carrier for shared memory, as in the reports of readers.
constexpr char kSharedMemory[] = "shared memory";

double BytesOf(v1::DataType type) {
  switch (type) {
    case v1::UINT8:
    case v1::INT8:
    case v1::BOOL:
      return 1;
    case v1::INT16:
    case v1::UINT16:
    case v1::FLOAT16:
    case v1::BFLOAT16:
      return 2;
    case v1::INT64:
    case v1::UINT64:
    case v1::FLOAT64:
      return 8;
    default:
      return 4;
  }
}

std::string CapsText(const v1::Caps& caps) {
  std::vector<std::string> parts;
  if (caps.cpu_share() > 0) parts.push_back(absl::StrCat("cpu_share ", caps.cpu_share()));
  if (caps.storage_requests_per_second() > 0) {
    parts.push_back(absl::StrCat("storage_requests_per_second ", caps.storage_requests_per_second()));
  }
  return absl::StrJoin(parts, ", ");
}

void AddFacts(const JobEntry& entry, ExplainInput* out) {
  const v1::Job& job = entry.job;
  out->caps = CapsText(job.spec().caps());
  out->job = job.name();
  out->data_bytes = static_cast<double>(entry.frozen.data_bytes());
  const plan::PlanOptions order = plan::PlanOptionsOf(job.spec().order());
  if (order.shuffle == plan::Shuffle::kChunked && entry.frozen.records() > 0) {
    out->window_chunks = order.window_chunks;
    out->chunk_bytes = order.chunk_records * out->data_bytes / static_cast<double>(entry.frozen.records());
  }
  if (entry.blend != nullptr) out->datasets = plan::SetNamesOf(job.spec());
  for (const v1::Column& column : job.columns()) {
    if (column.ragged()) continue;
    double elements = 1;
    for (const int64_t extent : column.shape()) elements *= static_cast<double>(extent);
    out->row_bytes += elements * BytesOf(column.dtype());
    out->floats = out->floats || (column.dtype() == v1::FLOAT32 && elements >= kLargeColumn);
  }
  const auto add_ops = [out](const google::protobuf::RepeatedPtrField<v1::Op>& ops) {
    for (const v1::Op& op : ops) {
      out->decodes = out->decodes || op.has_decode_image();
      out->crops = out->crops || op.has_random_resized_crop() || op.has_random_crop() || op.has_center_crop();
    }
  };
  add_ops(job.spec().ops());
  for (const v1::Dataset& dataset : job.spec().dataset()) add_ops(dataset.ops());
}

// Returns the error lines about files of this job.
std::vector<std::string> FileErrorsOf(const JobEntry& entry, const v1::WorkerLoad& load) {
  if (load.troubles().empty()) return {};
  std::set<std::string_view> tails;
  for (const std::string& line : load.troubles()) AddTails(FileOf(line), &tails);
  std::set<std::string, std::less<>> here;
  entry.frozen.ForEach([&](const v1::Shard& shard) {
    if (tails.contains(shard.path())) here.insert(shard.path());
    return true;
  });
  std::vector<std::string> lines;
  for (const std::string& line : load.troubles()) {
    std::set<std::string_view> own;
    AddTails(FileOf(line), &own);
    const bool ours = std::any_of(own.begin(), own.end(), [&](std::string_view tail) { return here.contains(tail); });
    if (ours) lines.push_back(line);
  }
  return lines;
}

// Returns whether all readers are on that host and receive rows through shared memory.
bool SharesMemory(const std::vector<const SessionEntry*>& readers, const std::string& host) {
  return std::all_of(readers.begin(), readers.end(), [&host](const SessionEntry* reader) {
    return reader->open.host() == host && absl::StrContains(reader->last.carriers(), kSharedMemory);
  });
}

std::string WhyNotReady(const v1::Job& job) {
  switch (job.state()) {
    case v1::FAILED:
      return absl::StrCat("failed: ", job.error());
    case v1::CANCELLED:
      return absl::StrCat("was cancelled", job.error().empty() ? "" : absl::StrCat(": ", job.error()));
    default:
      return absl::StrCat("is being prepared, ",
                          job.shards_total() == 0
                              ? "workers list its files"
                              : absl::StrCat(job.shards_indexed(), " of ", job.shards_total(), " shards are indexed"),
                          job.waiting().empty() ? "" : absl::StrCat("; it waits: ", job.waiting()));
  }
}

}  // namespace

std::vector<const SessionEntry*> CoordinatorState::ReadersOf(const JobEntry& entry, Nanos now) const {
  std::vector<const SessionEntry*> readers = sessions_.OfJob(entry.job.name());
  std::erase_if(readers, [now](const SessionEntry* session) { return now - session->last_report > kSilent; });
  return readers;
}

v1::Explanation CoordinatorState::ExplainJob(const JobEntry& entry, uint32_t asked, Nanos now) const {
  const uint32_t seconds = asked == 0 ? kUsualSeconds : asked;
  ExplainInput input;
  AddFacts(entry, &input);
  const std::vector<const SessionEntry*> readers = ReadersOf(entry, now);
  for (const SessionEntry* session : readers) {
    SessionInput& in = input.sessions.emplace_back();
    in.id = session->id;
    in.rank = session->open.rank();
    in.world_size = session->open.world_size();
    const auto* const then = session->history.Back(seconds);
    if (then != nullptr) ObserveSession(then->value, session->last, &in);
    for (const auto& [worker, said] : session->unreachable) {
      if (now - said <= options_.report_window) in.failed.push_back(worker);
    }
  }
  for (const auto& [id, worker] : workers_.all()) {
    input.names[id] = worker.name;
    const std::string lost = workers_.WhyLost(now, worker);
    if (!lost.empty() && now - worker.since < kTellLostFor && CanServe(worker, entry)) {
      input.lost.push_back(absl::StrCat(worker.name, " was ", lost));
    }
    const bool named = entry.view.has_value() && entry.view->FindWorker(id) != plan::View::kNobody;
    if (!named && worker.live() && !CanServe(worker, entry)) continue;
    if (!named && !worker.live()) continue;
    WorkerInput& in = input.workers.emplace_back();
    in.id = id;
    in.name = worker.name;
    in.live = worker.live();
    const v1::Tuning& tuning = worker.load.tuning();
    in.threads = tuning.threads() > 0 ? tuning.threads() : worker.info.threads();
    in.finds_reads = worker.load.has_tuning() && !tuning.read_threads_pinned();
    in.tuned = tuning.last_change();
    in.memory_budget = worker.info.memory_budget_bytes();
    const auto* const then = worker.history.Back(seconds);
    if (then != nullptr) ObserveWorker(then->value, worker.load, worker.last_beat - then->at, entry.job.name(), &in);
    in.shared_memory = !worker.info.local().empty() && SharesMemory(readers, worker.info.host());
    in.file_errors = FileErrorsOf(entry, worker.load);
    if (!named) continue;
    double keys = 0;
    for (const plan::ViewRange& range : entry.view->ranges) {
      if (entry.view->workers[range.owner].id == id) keys += static_cast<double>(range.end - range.begin);
    }
    in.owned_bytes = keys / static_cast<double>(entry.view->key_space) * input.data_bytes;
  }
  return penstock::coordinator::Explain(input);
}

absl::StatusOr<v1::ExplainReply> CoordinatorState::Explain(const v1::ExplainRequest& request, Nanos now,
                                                           const transport::Peer& caller) const {
  v1::ExplainReply reply;
  if (request.job().empty()) {
    for (const auto& [name, entry] : jobs_) {
      if (reply.jobs_size() == kMostJobs) break;
      if (entry.ready() && entry.job.paused_by().empty() && !ReadersOf(entry, now).empty())
        *reply.add_jobs() = ExplainJob(entry, request.seconds(), now);
    }
    return reply;
  }
  PS_ASSIGN_OR_RETURN(const JobEntry* const entry, FindReadJob(request.job(), now, "nothing holds it back", caller));
  *reply.add_jobs() = ExplainJob(*entry, request.seconds(), now);
  return reply;
}

absl::StatusOr<const JobEntry*> CoordinatorState::FindReadJob(const std::string& name, Nanos now, std::string_view so,
                                                              const transport::Peer& caller) const {
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return NoSuchJob(name, caller);
  const v1::Job& job = found->second.job;
  if (!found->second.ready()) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job.name(), " ", WhyNotReady(job)));
  }
  if (!job.paused_by().empty()) {
    return absl::FailedPreconditionError(net::PausedText(job.name(), job.paused_by()));
  }
  if (ReadersOf(found->second, now).empty()) {
    const size_t silent = sessions_.OfJob(job.name()).size();
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name(), " has no reader",
                     silent > 0 ? absl::StrCat(" (", silent, silent == 1 ? " reader has" : " readers have",
                                               " been silent for over ", kSilent / kSecond, " s)")
                                : "",
                     ", so ", std::string(so), ": open a reader (a trainer, or `penstock read ", job.name(),
                     "`) and ask again after some seconds"));
  }
  return &found->second;
}

}  // namespace penstock::coordinator
