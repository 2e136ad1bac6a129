#include "net/front_door/connection_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::net {
namespace {

constexpr double kBurstSeconds = 10;

}  // namespace

ConnectionTable::ConnectionTable(const ConnectionLimits& limits)
    : limits_(limits), new_ones_(limits.per_second, limits.per_second * kBurstSeconds) {}

uint32_t ConnectionTable::CountOf(const std::string& host) const {
  const auto found = counts_.find(host);
  return found == counts_.end() ? 0 : found->second;
}

void ConnectionTable::Remove(std::unordered_map<int, Entry>::iterator entry) {
  const auto count = counts_.find(entry->second.host);
  if (--count->second == 0) counts_.erase(count);
  open_.erase(entry);
}

void ConnectionTable::RemoveClosed(IsOpen is_open) {
  for (auto entry = open_.begin(); entry != open_.end();) {
    const auto next = std::next(entry);
    if (!is_open({entry->first, entry->second.socket})) Remove(entry);
    entry = next;
  }
}

std::string ConnectionTable::Admit(const std::string& host, Nanos now, IsOpen is_open) {
  std::erase_if(blocked_, [now](const auto& entry) { return entry.second <= now; });
  if (blocked_.contains(host))
    return absl::StrCat(host, " is rejected for some seconds, because it flooded this process");
  if (!new_ones_.Take(host, now)) {
    return absl::StrCat(host, " opens more than ", limits_.per_second,
                        " connections a second, the most that limits.connections_per_second allows");
  }
  const auto full = [&] { return CountOf(host) >= limits_.per_host || open_.size() >= limits_.total; };
  if (full() || now - checked_ >= kSecond) {
    checked_ = now;
    RemoveClosed(is_open);
  }
  if (!full()) return "";
  if (open_.size() < limits_.total) {
    return absl::StrCat(host, " has ", limits_.per_host,
                        " open connections, the most that limits.connections_per_host allows");
  }
  const auto most = std::max_element(counts_.begin(), counts_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return absl::StrCat("there are ", open_.size(), " open connections, three quarters of the open files that this ",
                      "process uses (ulimit -n, at most 65536); ", most->first, " has the most, ", most->second);
}

void ConnectionTable::Block(const std::string& host, Nanos until) { blocked_[host] = until; }

void ConnectionTable::Add(const Connection& connection, const std::string& host) {
  if (const auto before = open_.find(connection.fd); before != open_.end()) Remove(before);
  open_.emplace(connection.fd, Entry{connection.socket, host, 0});
  ++counts_[host];
}

std::optional<ConnectionTable::Sender> ConnectionTable::LargestSender(
    absl::FunctionRef<uint64_t(const Connection&)> received) {
  std::optional<Sender> largest;
  for (auto& [fd, entry] : open_) {
    const uint64_t now = received({fd, entry.socket});
    const uint64_t bytes = now - std::min(now, entry.received);
    entry.received = now;
    if (bytes > 0 && (!largest || bytes > largest->bytes)) largest = {{fd, entry.socket}, entry.host, bytes};
  }
  return std::exchange(compares_, true) ? largest : std::nullopt;
}

std::vector<ConnectionTable::Connection> ConnectionTable::Of(const std::string& host) const {
  std::vector<Connection> connections;
  for (const auto& [fd, entry] : open_) {
    if (entry.host == host) connections.push_back({fd, entry.socket});
  }
  return connections;
}

}  // namespace penstock::net
