#include "server/worker/stream/session_opening.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "net/session_label.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/plan/job_order.h"

namespace penstock::worker {
namespace {

std::string Hex(uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

absl::Status CheckFingerprint(const std::string& what, uint64_t theirs, uint64_t ours, const std::string& job) {
  if (theirs == ours) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("job '", job, "': the session's ", what, " fingerprint is ",
                                                    Hex(theirs), ", this worker's is ", Hex(ours),
                                                    "; open the job again"));
}

}  // namespace

absl::StatusOr<uint32_t> ProtocolFor(const v1::Open& open, const std::string& worker_id) {
  return CommonProtocol("this client", {open.version(), net::ProtocolsOf(open.protocols())},
                        absl::StrCat("worker ", worker_id));
}

absl::Status CheckKnowsData(const v1::Open& open, const v1::JobSpec& job, bool selects) {
  const bool named = plan::HasNamedSets(job), changes = job.batch().change_size() > 0;
  if ((!selects && !named && !changes) || open.protocols().newest() >= kDataProtocol) return absl::OkStatus();
  const Release release{open.version(), net::ProtocolsOf(open.protocols())};
  return absl::FailedPreconditionError(absl::StrCat("job '", open.job(), "' ",
                                                    selects ? "selects records"
                                                    : named ? "names its data sets"
                                                            : "changes its batch size",
                                                    ", which this client, ", release.ToString(),
                                                    ", does not know: upgrade it"));
}

absl::Status CheckFingerprints(const v1::Open& open, const loader::LoadJob& job) {
  PS_RETURN_IF_ERROR(CheckFingerprint("order", open.order_fingerprint(), job.order_fingerprint(), open.job()));
  return CheckFingerprint("pipeline", open.pipeline_fingerprint(), augment::JobPipelineFingerprint(job.pipelines()),
                          open.job());
}

SessionParameters SessionParametersOf(const v1::Open& open, std::shared_ptr<const loader::LoadJob> job,
                                      const std::string& worker_id) {
  SessionParameters parameters;
  parameters.rank = open.rank();
  parameters.world_size = open.world_size();
  parameters.step_rows = open.step_rows();
  parameters.step_rows.batches = job->order().batches();
  for (const v1::StepChange& change : open.step_changes()) {
    parameters.step_rows.changes.push_back({change.at_rows(), change.step_rows()});
  }
  parameters.records = job->num_records();
  parameters.positions = job->positions();
  parameters.last = plan::LastBatchOf(job->spec().batch().last());
  parameters.worker_id = worker_id;
  parameters.plan_of = [job = std::move(job)](uint64_t epoch) { return job->PlanOf(epoch); };
  return parameters;
}

size_t RowsForReads(int reads, int threads) { return reads > 0 ? static_cast<size_t>(2 * reads + 2 * threads) : 0; }

size_t RowsAhead(const AheadLimits& limits, uint64_t fixed_bytes, const BlockMemory* memory) {
  const uint64_t bytes = memory == nullptr ? limits.bytes : std::min(limits.bytes, memory->bytes_for_blocks());
  const uint64_t rows = bytes / std::max<uint64_t>(fixed_bytes, 1);
  return std::min<uint64_t>(limits.rows, std::max<uint64_t>(rows, limits.busy_rows));
}

uint64_t MessageBytes(uint64_t flush_bytes, const BlockMemory* memory) {
  const bool room = memory != nullptr && memory->bytes_for_blocks() >= 8 * flush_bytes;
  return room ? 2 * flush_bytes : flush_bytes;
}

std::string SessionName(const v1::Open& open) {
  return absl::StrCat("session ", net::SessionLabel(open.session_id()), " of job '", open.job(), "', rank ",
                      open.rank());
}

}  // namespace penstock::worker
