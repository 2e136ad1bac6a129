#include "server/worker/stream/outbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/worker/stream/session_core.h"

namespace penstock::worker {

uint64_t PayloadBytes(const loader::RowResult& row, uint64_t fixed_bytes) {
  if (!row.status.ok() || row.masked) return 0;
  uint64_t bytes = fixed_bytes;
  for (const std::string& column : row.ragged) bytes += column.size();
  return bytes;
}

void Outbox::Expect(const std::vector<loader::RowRequest>& rows) {
  for (const loader::RowRequest& row : rows) {
    if (!WasFetched(row.tag)) ++expected_[row.step];
  }
}

void Outbox::Add(loader::RowResult row, Nanos now) {
  if (rows_.empty()) oldest_ = now;
  if (!WasFetched(row.request.tag)) {
    const auto expected = expected_.find(row.request.step);
    if (expected != expected_.end() && --expected->second == 0) expected_.erase(expected);
  }
  Entry entry;
  entry.payload = PayloadBytes(row, fixed_bytes_);
  const Key key(!WasFetched(row.request.tag), row.request.step, next_arrival_++);
  entry.row = std::move(row);
  bytes_ += entry.payload;
  rows_.emplace(key, std::move(entry));
}

void Outbox::SetHead(uint64_t step) {
  has_head_ = true;
  head_ = std::max(head_, step);
}

std::optional<Nanos> Outbox::DueAt() const {
  if (rows_.empty()) return std::nullopt;
  if (bytes_ >= limits_.flush_bytes || rows_.size() >= limits_.max_rows) return 0;
  const loader::RowRequest& first = rows_.begin()->second.row.request;
  if (WasFetched(first.tag)) return 0;
  const bool head_is_complete = expected_.empty() || expected_.begin()->first > head_;
  if (IsHead(first) && head_is_complete) return 0;
  return oldest_ + limits_.flush_after;
}

std::vector<loader::RowResult> Outbox::Take() {
  std::vector<loader::RowResult> taken;
  uint64_t taken_bytes = 0;
  while (!rows_.empty() && taken.size() < limits_.max_rows && taken_bytes < limits_.flush_bytes) {
    const auto first = rows_.begin();
    if (!taken.empty() && first->second.row.request.epoch != taken.front().request.epoch) break;
    taken_bytes += first->second.payload;
    taken.push_back(std::move(first->second.row));
    rows_.erase(first);
  }
  bytes_ -= taken_bytes;
  return taken;
}

size_t Outbox::Revoke(size_t bytes, bool head_too, std::vector<loader::RowRequest>* dropped) {
  size_t freed = 0;
  // The furthest granted steps are at the end. Fetched rows, whose trainer is close, are at the front and go last.
  for (auto it = rows_.end(); it != rows_.begin() && freed < bytes;) {
    const auto last = std::prev(it);
    if (!head_too && IsHead(last->second.row.request)) {
      it = last;
      continue;
    }
    const loader::RowResult& row = last->second.row;
    freed += row.bytes == nullptr ? 0 : row.bytes->bytes();
    dropped->push_back(row.request);
    bytes_ -= last->second.payload;
    it = rows_.erase(last);
  }
  return freed;
}

void Outbox::Clear() {
  rows_.clear();
  expected_.clear();
  bytes_ = 0;
}

}  // namespace penstock::worker
