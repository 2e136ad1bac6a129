#include "server/coordinator/history_list.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::coordinator {

std::string HistoryKey(const v1::HistoryEvent& event) {
  return absl::StrCat(static_cast<int>(event.kind()), "\n", event.job(), "\n", event.worker());
}

void HistoryList::Add(v1::HistoryEvent event) {
  const uint64_t number = event.number();
  std::deque<uint64_t>& of_key = numbers_[HistoryKey(event)];
  of_key.push_back(number);
  events_[number] = std::move(event);
  if (of_key.size() > kMostEventsOfKey) Drop(of_key.front());
  if (events_.size() > kMostEvents) Drop(events_.begin()->first);
}

// The oldest event of all is the oldest one of its key.
void HistoryList::Drop(uint64_t number) {
  const auto dropped = events_.find(number);
  const auto of_key = numbers_.find(HistoryKey(dropped->second));
  of_key->second.pop_front();
  if (of_key->second.empty()) numbers_.erase(of_key);
  events_.erase(dropped);
}

}  // namespace penstock::coordinator
