// Selects the workers that may serve a job, and updates the views.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/version.h"
#include "net/view_proto.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

constexpr double kCloseTolerance = 0.02;

bool HasRoots(const WorkerEntry& worker, const JobEntry& entry) {
  if (worker.info.roots().empty()) return true;  // its roots are unknown
  const auto& roots = worker.info.roots();
  return std::all_of(entry.roots.begin(), entry.roots.end(), [&](const std::string& root) {
    return std::find(roots.begin(), roots.end(), root) != roots.end();
  });
}

// Returns whether features or casts make columns that 0.3.0 lacks: of a newer type, or padded.
template <typename Part>
bool HasNewColumns(const Part& part) {
  const auto is_new = [](v1::DataType type) { return type == v1::UINT32 || type == v1::UINT64; };
  return std::any_of(part.features().begin(), part.features().end(),
                     [&](const v1::Feature& feature) { return is_new(feature.decode_raw()) || feature.has_pad(); }) ||
         std::any_of(part.ops().begin(), part.ops().end(), [&](const v1::Op& op) { return is_new(op.cast().to()); });
}

}  // namespace

bool CoordinatorState::Understands(const WorkerEntry& worker, const JobEntry& entry) const {
  const v1::JobSpec& job = entry.job.spec();
  const bool simple = !plan::SelectsRecords(job) && !plan::HasNamedSets(job) &&
                      plan::DatasetOf(job).source() <= v1::Source::TAR && !plan::DatasetOf(job).has_window() &&
                      !HasNewColumns(job) && job.batch().change().empty();
  return simple || worker.info.protocols().newest() >= kDataProtocol;
}

bool CoordinatorState::CanServe(const WorkerEntry& worker, const JobEntry& entry) const {
  return Understands(worker, entry) && worker.info.conformance_digest() == entry.digest && HasRoots(worker, entry);
}

void CoordinatorState::RefreshViews(Consequences* out) {
  for (auto& [name, entry] : jobs_) {
    if (entry.ready()) RefreshView(&entry, out);
  }
  ForEachSubmission([this](JobEntry* entry) {
    std::string waiting = WhatItWaitsFor(*entry);
    if (waiting == entry->job.waiting()) return;
    entry->job.set_waiting(std::move(waiting));
    TouchJob(entry);
  });
}

// Live workers serve the job. If there are none, the workers that still send heartbeats do. If there are none of these
// either, the last view stays, so that workers that rejoin find their ranges.
//
// Right after a restart the last view stays for its workers that have registered again. New workers wait until the
// missing workers are known.
void CoordinatorState::RefreshView(JobEntry* entry, Consequences* out) {
  if (IsEnding(entry->job.name())) return;  // a view that is stored after the job's end would have no job
  const bool hold = !settled_ && entry->view && entry->view->term != term_;
  std::vector<AssignWorker> known, live, beating;
  for (const auto& [id, worker] : workers_.all()) {
    if (!worker.Beats() || !CanServe(worker, *entry)) continue;
    const AssignWorker candidate{id,
                                 worker.info.address(),
                                 workers_.Capacity(worker),
                                 worker.info.local(),
                                 worker.name == id ? "" : worker.name,
                                 worker.info.tls_name()};
    beating.push_back(candidate);
    if (!worker.live()) continue;
    live.push_back(candidate);
    if (hold && entry->view->FindWorker(id) != plan::View::kNobody) known.push_back(candidate);
  }
  const std::vector<AssignWorker>& chosen = !known.empty() ? known : !live.empty() ? live : beating;
  if (chosen.empty()) return;
  AssignOptions options;
  options.term = term_;
  // A measured share is deliberate after the wait for it, so follow it closely. Otherwise the caches of the workers are
  // worth more than exact shares.
  if (out->rebalance) options.tolerance = kCloseTolerance;
  options.policy = entry->job.spec().assignment().policy() == v1::BY_RANK ? plan::AssignPolicy::kByRank
                                                                          : plan::AssignPolicy::kByRecord;
  absl::StatusOr<plan::View> next = AssignRanges(entry->view, chosen, *entry->weights, options);
  PS_CHECK(next.ok());
  if (entry->view && next->ranges == entry->view->ranges && next->workers == entry->view->workers) {
    return;
  }
  next->n = std::max(next->n, entry->first_view_number);
  out->events.push_back(ViewEvent(*entry, *next));
  SetView(entry, *std::move(next));
  v1::StoredView* stored = out->hints.emplace_back().mutable_put_view();
  stored->set_job(entry->job.name());
  *stored->mutable_view() = entry->job.view();
}

void CoordinatorState::SetView(JobEntry* entry, plan::View next) {
  const v1::View before = entry->job.view();
  entry->view = std::move(next);
  *entry->job.mutable_view() = net::ToProto(*entry->view);
  TouchJob(entry);
  entry->views.Add(before, entry->job.view(), entry->job.revision());
}

std::string CoordinatorState::WhatItWaitsFor(const JobEntry& entry) const {
  if (!entry.preparing() && !entry.ready()) return "";
  size_t live = 0, too_old = 0, other_digest = 0, no_roots = 0;
  for (const auto& [id, worker] : workers_.all()) {
    if (!worker.live()) continue;
    ++live;
    if (!Understands(worker, entry)) {
      ++too_old;
      continue;
    }
    if (entry.digest.empty()) continue;  // any worker may prepare it
    if (worker.info.conformance_digest() != entry.digest) {
      ++other_digest;
    } else if (!HasRoots(worker, entry)) {
      ++no_roots;
    }
  }
  if (live == 0) return "no worker is live; start one: penstockd worker --coordinator HOST:PORT";
  if (too_old + other_digest + no_roots < live) return entry.preparing() ? entry.shortage : "";
  if (too_old == live)
    return "no live worker knows dataset.select, names of data sets, blend, JSONL, TEXT, CSV, TSV, NPY, MANIFEST, "
           "MEGATRON, windows, pad, batch.change, UINT32 or UINT64; upgrade the workers";
  std::string text = "no live worker can serve it:";
  if (too_old > 0) {
    absl::StrAppend(&text, " ", too_old, " do not know dataset.select", no_roots + other_digest > 0 ? "," : "");
  }
  if (no_roots > 0) absl::StrAppend(&text, " ", no_roots, " lack one of its data roots");
  if (other_digest > 0) {
    absl::StrAppend(&text, no_roots > 0 ? "," : "", " ", other_digest,
                    " compute other bits than the workers that prepared it (conformance digest); "
                    "submit it with --replace to move it to them");
  }
  return text;
}

}  // namespace penstock::coordinator
