#include "pipeline/storage/file_errors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::storage {

std::string FileErrors::LineOf(const std::string& file, const Failure& failure, Nanos now) {
  // Most messages begin with the name of the file.
  std::string_view what = failure.what;
  while (what.substr(0, file.size()) == file) {
    what.remove_prefix(file.size());
    while (!what.empty() && (what.front() == ':' || what.front() == ',' || what.front() == ' ')) what.remove_prefix(1);
  }
  std::string tried;
  if (failure.tries > 0) tried = absl::StrCat(", tried ", failure.tries, failure.tries == 1 ? " time" : " times");
  return absl::StrCat(file, ": ", absl::string_view(what.data(), what.size()), "; for ",
                      (now - failure.since) / kSecond, " s", tried, "; ", failure.next);
}

FileErrors::Failure* FileErrors::Find(const std::string& file, Nanos now) {
  auto it = errors_.find(file);
  if (it != errors_.end() && now - it->second.last > kKeptFor) {
    errors_.erase(it);
    it = errors_.end();
  }
  if (it == errors_.end()) {
    if (errors_.size() >= kMostFiles) {
      std::erase_if(errors_, [now](const auto& entry) { return now - entry.second.last > kKeptFor; });
      if (errors_.size() >= kMostFiles) return nullptr;
    }
    it = errors_.try_emplace(file).first;
    it->second.since = now;
    it->second.reported_at = now - interval_;
  }
  it->second.last = now;
  return &it->second;
}

std::string FileErrors::LineToReport(const std::string& file, Failure* failure, Nanos now) {
  if (now - failure->reported_at < interval_) return "";
  if (now - interval_began_ >= interval_) {
    interval_began_ = now;
    reported_ = 0;
  }
  if (reported_ > kMostReported) return "";
  if (reported_++ == kMostReported) {
    return "other files fail, too: `penstock status` and `penstock explain JOB` name them";
  }
  failure->reported_at = now;
  failure->was_reported = true;
  return LineOf(file, *failure, now);
}

void FileErrors::Failed(const std::string& file, const absl::Status& status, const std::string& next) {
  std::string line;
  const Nanos now = clock_->Now();
  {
    MutexLock lock(&mutex_);
    Failure* const failure = Find(file, now);
    if (failure == nullptr) return;
    failure->what = std::string(status.message());
    failure->next = next;
    ++failure->tries;
    line = LineToReport(file, failure, now);
  }
  if (report_ && !line.empty()) report_(line);
}

void FileErrors::Silent(const std::string& file, const std::string& what, Nanos silent, const std::string& next) {
  std::string line;
  const Nanos now = clock_->Now();
  {
    MutexLock lock(&mutex_);
    Failure* const failure = Find(file, now);
    if (failure == nullptr) return;
    failure->since = std::min(failure->since, now - silent);
    failure->what = what;
    failure->next = next;
    line = LineToReport(file, failure, now);
  }
  if (report_ && !line.empty()) report_(line);
}

void FileErrors::Recovered(const std::string& file) {
  std::string line;
  {
    MutexLock lock(&mutex_);
    const auto it = errors_.find(file);
    if (it == errors_.end()) return;
    if (it->second.was_reported) {
      line = absl::StrCat(file, ": works again, after ", (clock_->Now() - it->second.since) / kSecond, " s");
    }
    errors_.erase(it);
  }
  if (report_ && !line.empty()) report_(line);
}

std::vector<std::string> FileErrors::Lines(size_t most, size_t bytes) const {
  const Nanos now = clock_->Now();
  std::vector<std::pair<Nanos, std::string>> found;
  {
    MutexLock lock(&mutex_);
    for (const auto& [file, failure] : errors_) {
      if (now - failure.last <= kKeptFor) found.emplace_back(failure.since, LineOf(file, failure, now));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  for (size_t i = 0; i < found.size() && lines.size() < most; ++i) {
    lines.push_back(std::move(found[i].second));
    if (lines.back().size() > bytes) lines.back().resize(bytes);
  }
  return lines;
}

}  // namespace penstock::storage
