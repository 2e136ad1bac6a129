#include "server/coordinator/trace/support_desk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::coordinator {

void SupportDesk::Forget(Nanos now) {
  std::erase_if(collections_, [now](const auto& entry) { return now > entry.second.end + kKept; });
}

absl::StatusOr<v1::StartSupportReply> SupportDesk::Start(uint64_t id, const transport::Peer& caller,
                                                         const std::vector<SupportParty>& parties, Nanos now) {
  Forget(now);
  if (collections_.size() >= kMostRunning) {
    Nanos first = INT64_MAX;
    for (const auto& [other, collection] : collections_) first = std::min(first, collection.end + kKept);
    return absl::ResourceExhaustedError(absl::StrCat(kMostRunning, " support files are being collected; try again in ",
                                                     (first - now) / kSecond + 1, " s"));
  }
  Collection& collection = collections_[id];
  collection.owner = caller;
  collection.end = now + kWait;
  v1::StartSupportReply reply;
  reply.set_id(id);
  for (const SupportParty& party : parties) {
    collection.parties[party.id] = {party.name, party.lost};
    if (party.lost.empty()) reply.add_processes(party.name);
  }
  return reply;
}

void SupportDesk::AddOrders(const std::string& worker, Nanos now,
                            google::protobuf::RepeatedPtrField<v1::SupportOrder>* orders) {
  for (auto& [id, collection] : collections_) {
    const auto party = collection.parties.find(worker);
    if (party == collection.parties.end() || party->second.done || now >= collection.end) continue;
    party->second.told = true;
    orders->Add()->set_id(id);
  }
}

absl::StatusOr<v1::PutSupportReply> SupportDesk::Put(const v1::PutSupportRequest& request, Nanos now) {
  Forget(now);
  const auto found = collections_.find(request.id());
  if (found == collections_.end() || !found->second.parties.contains(request.worker_id())) {
    return absl::NotFoundError("no support file waits for these files: it took too long, or was fetched");
  }
  Collection& collection = found->second;
  Party& party = collection.parties[request.worker_id()];
  if (party.done) return v1::PutSupportReply();
  const size_t bytes = request.ByteSizeLong();
  if (bytes > kMostBytesOfOne || collection.bytes + bytes > kMostBytes) {
    party.lost = absl::StrCat("its files of ", bytes, " bytes did not fit");
    return v1::PutSupportReply();
  }
  party.done = true;
  collection.bytes += bytes;
  v1::SupportPart& part = collection.parts.emplace_back();
  part.set_process(party.name);
  *part.mutable_files() = request.files();
  return v1::PutSupportReply();
}

absl::StatusOr<v1::GetSupportReply> SupportDesk::Get(const v1::GetSupportRequest& request,
                                                     const transport::Peer& caller,
                                                     absl::FunctionRef<bool(const std::string& worker)> beats,
                                                     Nanos now) {
  Forget(now);
  const std::string name = absl::StrCat(absl::Hex(request.id(), absl::kZeroPad16));
  const transport::Claim claim{transport::Act::kFetchSupport, name, caller};
  const auto found = collections_.find(request.id());
  if (found == collections_.end()) {
    const absl::Status missing = may_act_(claim, nullptr);
    return missing.ok() ? absl::NotFoundError("the support file does not exist") : missing;
  }
  Collection& collection = found->second;
  const transport::Ownership owned{name, collection.owner};
  PS_RETURN_IF_ERROR(may_act_(claim, &owned));
  v1::GetSupportReply reply;
  size_t bytes = 0;
  while (!collection.parts.empty() && bytes < kReplyBytes) {
    const size_t size = collection.parts.front().ByteSizeLong();
    bytes += size;
    collection.bytes -= std::min(collection.bytes, size);
    *reply.add_parts() = std::move(collection.parts.front());
    collection.parts.pop_front();
  }
  bool waits = false;
  for (auto& [id, party] : collection.parties) {
    if (party.done || !party.lost.empty()) continue;
    if (!id.empty() && !beats(id)) party.lost = "it was lost meanwhile: no heartbeat";
    waits = waits || party.lost.empty();
  }
  if (!collection.parts.empty() || (waits && now < collection.end)) return reply;
  reply.set_done(true);
  for (const auto& [id, party] : collection.parties) {
    if (party.done) continue;
    const std::string why = !party.lost.empty() ? party.lost
                            : party.told || id.empty()
                                ? absl::StrCat("it got the request, but sent no files within ", kWait / kSecond,
                                               " s: it hangs, or its release has no support files")
                                : absl::StrCat("it sent no heartbeat within ", kWait / kSecond, " s: it hangs");
    reply.add_missing(absl::StrCat(party.name, ": ", why));
  }
  collections_.erase(found);
  return reply;
}

}  // namespace penstock::coordinator
