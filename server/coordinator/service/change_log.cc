#include "server/coordinator/service/change_log.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/common/log_fields.h"

namespace penstock::coordinator {
namespace {

using server::LogInfo;
using server::LogWarn;

// Returns "NAME (ID)". A display name may be the id, or end with it.
std::string NameAndId(const std::string& name, const std::string& id) {
  const std::string suffix = absl::StrCat(" (", id, ")");
  return name == id || absl::EndsWith(name, suffix) ? name : absl::StrCat(name, suffix);
}

std::string TextOf(const std::vector<const v1::StoredView*>& views) {
  if (views.size() != 1) return absl::StrCat(views.size(), " jobs have new views");
  const v1::View& view = views[0]->view();
  return absl::StrCat("job ", views[0]->job(), ": view ", view.term(), ".", view.number(), " of ", view.ranges_size(),
                      " ranges on ", view.workers_size(), " workers");
}

// The label shows a quarter of the id, so that the rest stays a secret of 48 bits.
std::string TraceLabel(uint64_t id) { return absl::StrCat(absl::Hex(id >> 48, absl::kZeroPad4)); }

void LogFact(const v1::StoreEvent& fact) {
  if (fact.has_put_job()) {
    const v1::Job& job = fact.put_job().job();
    const v1::Job& next = fact.put_job().next();
    if (next.state() == v1::FAILED) {
      LogWarn({.job = job.name()}, "job {} continues unchanged; its replacement failed: {}", job.name(), next.error());
    } else if (next.state() == v1::PREPARING) {
      LogInfo({.job = job.name()}, "job {} continues until its replacement is ready", job.name());
    } else if (job.state() == v1::FAILED) {
      LogWarn({.job = job.name()}, "job {} failed: {}", job.name(), job.error());
    } else if (!job.paused_by().empty()) {
      LogInfo({.job = job.name()}, "job {} is {}, paused by {}", job.name(), v1::JobState_Name(job.state()),
              job.paused_by());
    } else if (job.state() == v1::CANCELLED && !job.error().empty()) {
      LogWarn({.job = job.name()}, "job {} is CANCELLED: {}", job.name(), job.error());
    } else {
      LogInfo({.job = job.name()}, "job {} is {}", job.name(), v1::JobState_Name(job.state()));
    }
  } else if (fact.has_delete_job()) {
    LogInfo({.job = fact.delete_job()}, "job {} is deleted", fact.delete_job());
  } else if (fact.has_put_revocation()) {
    LogWarn({}, "the tickets of '{}' are revoked", fact.put_revocation().name());
  } else if (fact.has_put_ticket_key()) {
    LogInfo({}, "a new key will sign tickets");
  } else if (fact.has_add_decisions()) {
    const v1::StoredDecisions& decisions = fact.add_decisions();
    LogWarn({.job = decisions.job()},
            "job {}: every copy of {} records is damaged; the first is record {} of the snapshot", decisions.job(),
            decisions.records_size(), decisions.records(0).record());
  }
}

}  // namespace

void LogMembersAndViews(const Effects& effects) {
  std::vector<const v1::StoredView*> views;
  for (const v1::StoreEvent& hint : effects.hints) {
    if (hint.has_put_view()) views.push_back(&hint.put_view());
  }
  if (effects.members.empty() && views.empty()) return;
  const std::string_view job = views.size() == 1 ? std::string_view(views[0]->job()) : std::string_view();
  if (effects.members.empty()) return LogInfo({.job = job}, "{}", TextOf(views));
  size_t left = effects.members.size();
  for (const auto& [id, worker] : effects.members) {
    const bool last = --left == 0;
    LogInfo({.job = last ? job : std::string_view(), .worker = worker.name}, "worker {} at {} is {}{}",
            NameAndId(worker.name, id), worker.address, v1::WorkerStatus_State_Name(worker.state),
            last && !views.empty() ? absl::StrCat("; ", TextOf(views)) : "");
  }
}

void LogFacts(const std::vector<std::shared_ptr<const v1::StoreEvent>>& facts) {
  std::set<std::string_view> stored;
  for (const auto& fact : facts) {
    if (fact->has_put_job()) stored.insert(fact->put_job().job().name());
  }
  for (const auto& fact : facts) {
    const bool replaced = fact->has_delete_job() && stored.contains(fact->delete_job());
    if (!replaced) LogFact(*fact);
  }
}

void LogTrace(const Event& event, const Effects& effects) {
  if (!effects.status.ok()) return;
  if (const auto* start = std::get_if<v1::StartTraceRequest>(&event.request)) {
    const auto& reply = std::get<v1::StartTraceReply>(effects.reply);
    const std::string trace = TraceLabel(reply.trace());
    LogInfo({.job = start->job(), .peer = event.caller.ToString(), .trace = trace},
            "job {}: trace {} of {} s begins, of {} workers and {} trainers", start->job(), trace, start->seconds(),
            reply.workers(), reply.trainers());
  } else if (const auto* get = std::get_if<v1::GetTraceRequest>(&event.request)) {
    const auto& reply = std::get<v1::GetTraceReply>(effects.reply);
    if (!reply.complete()) return;
    const std::string trace = TraceLabel(get->trace());
    LogInfo({.peer = event.caller.ToString(), .trace = trace}, "trace {} is fetched; {} processes sent no part", trace,
            reply.missing_size());
  }
}

}  // namespace penstock::coordinator
