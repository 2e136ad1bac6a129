#include "pipeline/loader/damaged_copies.h"

#include "absl/strings/str_cat.h"

namespace penstock::loader {
namespace {

constexpr char kWayOut[] = "other workers serve its rows; replace the file by an intact copy";

}  // namespace

void DamagedCopies::Found(const sources::RecordRef& record, const std::string& name, const std::string& file,
                          const absl::Status& damage) {
  bool first = false;
  {
    MutexLock lock(&mutex_);
    if (count_.load(std::memory_order_relaxed) >= kMost) return;
    File& known = files_[record.shard];
    first = known.records.empty();
    known.path = file;
    const auto [it, added] = known.records.insert_or_assign(record.record, Copy{damage, clock_->Now(), name});
    if (added) count_.fetch_add(1, std::memory_order_relaxed);
  }
  if (first && log_ != nullptr) {
    log_(absl::StrCat("a copy is damaged, three reads gave the same wrong bytes: ", damage.message(), "; ", kWayOut));
  }
}

void DamagedCopies::FoundUnchanged(const sources::RecordRef& record) {
  MutexLock lock(&mutex_);
  const auto file = files_.find(record.shard);
  if (file == files_.end()) return;
  const auto copy = file->second.records.find(record.record);
  if (copy != file->second.records.end()) copy->second.looked_at = clock_->Now();
}

void DamagedCopies::Forget(uint32_t shard) {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  std::string path;
  {
    MutexLock lock(&mutex_);
    const auto file = files_.find(shard);
    if (file == files_.end()) return;
    count_.fetch_sub(file->second.records.size(), std::memory_order_relaxed);
    path = file->second.path;
    files_.erase(file);
  }
  if (log_ != nullptr) log_(absl::StrCat(path, " has changed: its damaged records are read again"));
}

DamagedCopies::Known DamagedCopies::Find(const sources::RecordRef& record) const {
  if (count_.load(std::memory_order_relaxed) == 0) return {};
  MutexLock lock(&mutex_);
  const auto file = files_.find(record.shard);
  if (file == files_.end()) return {};
  const auto copy = file->second.records.find(record.record);
  if (copy == file->second.records.end()) return {};
  return {copy->second.damage, clock_->Now() - copy->second.looked_at < kTrustedFor};
}

std::vector<std::string> DamagedCopies::Lines(size_t most) const {
  std::vector<std::string> lines;
  MutexLock lock(&mutex_);
  for (const auto& [shard, file] : files_) {
    if (lines.size() >= most) break;
    const Copy& copy = file.records.begin()->second;
    const bool one = file.records.size() == 1;
    lines.push_back(absl::StrCat(file.path, ": the ", one ? "copy" : "copies", " of ", file.records.size(),
                                 one ? " record is" : " records are", " damaged, the first is ", copy.name, "; ",
                                 kWayOut));
  }
  return lines;
}

}  // namespace penstock::loader
