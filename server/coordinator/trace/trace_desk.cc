#include "server/coordinator/trace/trace_desk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::coordinator {
namespace {

// Processes may join a trace after its start until it has this many.
constexpr size_t kMostLateParties = 1024;

uint32_t Milliseconds(Nanos time) { return static_cast<uint32_t>(std::max<Nanos>(0, time / kMillisecond)); }

}  // namespace

bool TraceDesk::AllDone(const Trace& trace) {
  return std::all_of(trace.parties.begin(), trace.parties.end(), [](const auto& party) { return party.second.done; });
}

void TraceDesk::Forget(Nanos now) {
  std::erase_if(traces_, [now](const auto& trace) { return now > trace.second.end + kGrace + kKept; });
}

absl::StatusOr<TraceDesk::Trace*> TraceDesk::ActFor(uint64_t id, transport::Act act, const transport::Peer& caller) {
  const std::string name = absl::StrCat(absl::Hex(id, absl::kZeroPad16));
  const transport::Claim claim{act, name, caller};
  const auto found = traces_.find(id);
  if (found == traces_.end()) {
    const absl::Status missing = may_act_(claim, nullptr);
    return missing.ok() ? absl::NotFoundError("the trace does not exist") : missing;
  }
  const transport::Ownership owned{name, found->second.owner};
  PS_RETURN_IF_ERROR(may_act_(claim, &owned));
  return &found->second;
}

absl::StatusOr<v1::StartTraceReply> TraceDesk::Start(uint64_t id, const v1::StartTraceRequest& request,
                                                     const transport::Peer& caller,
                                                     const std::vector<TraceParty>& parties, Nanos lead, Nanos now) {
  Forget(now);
  if (request.seconds() == 0 || request.seconds() > kMostSeconds) {
    return absl::InvalidArgumentError(
        absl::StrCat("a trace of ", request.seconds(), " s: its length must be 1 to ", kMostSeconds, " s"));
  }
  for (const auto& [other, trace] : traces_) {
    if (now >= trace.end + kGrace || AllDone(trace)) continue;
    const bool shares = std::any_of(parties.begin(), parties.end(), [&, &trace = trace](const TraceParty& party) {
      return trace.parties.contains(party.process);
    });
    if (trace.job != request.job() && !shares) continue;
    return absl::AlreadyExistsError(
        absl::StrCat("another penstock trace is running, of job ", trace.job,
                     trace.job == request.job() ? "" : ", which shares processes with this job",
                     ". A process records one trace at a time, and an interrupted one to its end. Try again in ",
                     (std::max(trace.end, now) + kGrace - now) / kSecond + 1, " s"));
  }
  if (traces_.size() >= kMostTraces) {
    Nanos first = INT64_MAX;
    for (const auto& [other, trace] : traces_) first = std::min(first, trace.end + kGrace + kKept);
    return absl::ResourceExhaustedError(absl::StrCat(kMostTraces,
                                                     " traces are being recorded or wait to be fetched; in ",
                                                     (first - now) / kSecond + 1, " s there is room for another"));
  }
  Trace& trace = traces_[id];
  trace.owner = caller;
  trace.job = request.job();
  trace.begin = now + lead;
  trace.end = trace.begin + request.seconds() * kSecond;
  trace.most_events = static_cast<uint32_t>(
      std::min(kMostEventsOfOne, std::max<size_t>(4096, kMostEvents / std::max<size_t>(1, parties.size()))));
  v1::StartTraceReply reply;
  for (const TraceParty& party : parties) {
    Party& entry = trace.parties[party.process];
    entry.worker = party.worker;
    entry.version = party.version;
    party.worker ? reply.set_workers(reply.workers() + 1) : reply.set_trainers(reply.trainers() + 1);
  }
  reply.set_trace(id);
  reply.set_begin_in_ms(Milliseconds(lead));
  return reply;
}

void TraceDesk::AddOrders(const std::string& process, Nanos now,
                          google::protobuf::RepeatedPtrField<v1::TraceOrder>* orders) {
  for (auto& [id, trace] : traces_) {
    if (now >= trace.end) continue;
    if (const auto party = trace.parties.find(process); party != trace.parties.end()) party->second.told = true;
    v1::TraceOrder* const order = orders->Add();
    order->set_trace(id);
    order->set_job(trace.job);
    order->set_begin_in_ms(Milliseconds(trace.begin - now));
    order->set_length_ms(Milliseconds(trace.end - std::max(now, trace.begin)));
    order->set_most_events(trace.most_events);
  }
}

absl::StatusOr<v1::PutTraceReply> TraceDesk::Put(const v1::PutTraceRequest& request, const transport::Peer& caller,
                                                 Nanos now) {
  Forget(now);
  PS_ASSIGN_OR_RETURN(Trace* const trace, ActFor(request.trace(), transport::Act::kAddPart, caller));
  if (!trace->parties.contains(request.process())) {
    if (trace->parties.size() >= kMostLateParties) return absl::ResourceExhaustedError("too many take part");
    trace->parties[request.process()].told = true;
  }
  Party& party = trace->parties[request.process()];
  party.answers = true;
  party.worker = party.worker || request.part().worker();
  party.done = party.done || request.last();
  v1::PutTraceReply reply;
  reply.set_received(now);
  reply.set_sent(now);
  if (!request.has_part()) return reply;
  const size_t bytes = request.part().ByteSizeLong();
  if (trace->bytes + bytes > kMostBytes) {
    ++trace->refused;
    return reply;
  }
  trace->bytes += bytes;
  trace->parts.push_back(request.part());
  return reply;
}

absl::StatusOr<v1::GetTraceReply> TraceDesk::Get(const v1::GetTraceRequest& request, const transport::Peer& caller,
                                                 Nanos now) {
  Forget(now);
  PS_ASSIGN_OR_RETURN(Trace* const trace, ActFor(request.trace(), transport::Act::kFetch, caller));
  v1::GetTraceReply reply;
  size_t bytes = 0;
  while (!trace->parts.empty() && bytes < kReplyBytes) {
    const size_t size = trace->parts.front().ByteSizeLong();
    bytes += size;
    trace->bytes -= size;
    *reply.add_parts() = std::move(trace->parts.front());
    trace->parts.pop_front();
  }
  reply.set_refused_parts(trace->refused);
  if (!trace->parts.empty() || now < trace->end || (!AllDone(*trace) && now < trace->end + kGrace)) return reply;
  reply.set_complete(true);
  for (const auto& [process, party] : trace->parties) {
    if (party.done) continue;
    v1::MissingProcess* const missing = reply.add_missing();
    missing->set_process(process);
    missing->set_worker(party.worker);
    missing->set_why(party.answers ? "it began to record, but did not upload its events"
                     : party.told
                         ? absl::StrCat("it got the request, but did not answer: release ",
                                        party.version.empty() ? "that it is" : party.version, " may not know traces")
                         : absl::StrCat("it was silent during the trace"));
  }
  traces_.erase(request.trace());
  return reply;
}

}  // namespace penstock::coordinator
