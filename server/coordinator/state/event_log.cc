#include "server/coordinator/state/event_log.h"

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace penstock::coordinator {
namespace {

constexpr size_t kMostMessageBytes = 512;
constexpr size_t kMostNameBytes = 256;
constexpr Nanos kLookEvery = kSecond;

}  // namespace

v1::HistoryEvent EventOf(v1::HistoryEvent::Kind kind, std::string job, std::string worker, std::string message) {
  v1::HistoryEvent event;
  event.set_kind(kind);
  event.set_job(std::move(job));
  event.set_worker(std::move(worker));
  event.set_message(std::move(message));
  return event;
}

v1::HistoryEvent RejectionOf(const v1::RejectedCaller& caller, std::string worker) {
  v1::HistoryEvent event = EventOf(
      v1::HistoryEvent::REJECTION, "", std::move(worker),
      absl::StrCat(caller.host().empty() ? "a caller" : caller.host(), " (", caller.reason(), "): ", caller.message()));
  event.set_by(caller.name());
  return event;
}

void EventLog::Restore(const google::protobuf::RepeatedPtrField<v1::HistoryEvent>& stored) {
  for (const v1::HistoryEvent& event : stored) {
    last_ = event.number();
    list_.Add(event);
  }
}

void EventLog::Put(v1::HistoryEvent event, std::vector<v1::StoreEvent>* facts) {
  event.set_number(++last_);
  *facts->emplace_back().mutable_add_history() = event;
  list_.Add(std::move(event));
}

void EventLog::Add(Nanos now, v1::HistoryEvent event, std::vector<v1::StoreEvent>* facts) {
  event.set_unix_ms(unix_ms_());
  TruncateUtf8(event.mutable_message(), kMostMessageBytes);
  TruncateUtf8(event.mutable_by(), kMostNameBytes);
  const std::string key = HistoryKey(event);
  const auto held = held_.find(key);
  if (held == held_.end() && rate_.Take(key, now)) return Put(std::move(event), facts);
  if (held == held_.end() && held_.size() >= kMostHeld) return;
  Held& of_key = held == held_.end() ? held_[key] : held->second;
  of_key.latest = std::move(event);
  ++of_key.count;
}

void EventLog::Tick(Nanos now, std::vector<v1::StoreEvent>* facts) {
  if (held_.empty() || now < next_look_) return;
  next_look_ = now + kLookEvery;
  for (auto it = held_.begin(); it != held_.end();) {
    if (!rate_.Take(it->first, now)) {
      ++it;
      continue;
    }
    v1::HistoryEvent event = std::move(it->second.latest);
    if (it->second.count > 1) {
      const std::string more = absl::StrCat(" (the latest of ", it->second.count, " such events)");
      TruncateUtf8(event.mutable_message(), kMostMessageBytes - more.size());
      event.mutable_message()->append(more);
    }
    Put(std::move(event), facts);
    it = held_.erase(it);
  }
}

}  // namespace penstock::coordinator
