#include "pipeline/storage/file_errors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

std::string FileErrors::LineOf(const std::string& file, const Trouble& trouble, Nanos now) {
  // Most messages begin with the name of the file.
  std::string_view what = trouble.what;
  while (what.substr(0, file.size()) == file) {
    what.remove_prefix(file.size());
    while (!what.empty() && (what.front() == ':' || what.front() == ',' || what.front() == ' ')) what.remove_prefix(1);
  }
  std::string tried;
  if (trouble.tries > 0) tried = absl::StrCat(", tried ", trouble.tries, trouble.tries == 1 ? " time" : " times");
  return absl::StrCat(file, ": ", absl::string_view(what.data(), what.size()), "; for ",
                      (now - trouble.since) / kSecond, " s", tried, "; ", trouble.next);
}

FileErrors::Trouble* FileErrors::Find(const std::string& file, Nanos now) {
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
    it->second.told = now - interval_;
  }
  it->second.last = now;
  return &it->second;
}

std::string FileErrors::Told(const std::string& file, Trouble* trouble, Nanos now) {
  if (now - trouble->told < interval_) return "";
  if (now - interval_began_ >= interval_) {
    interval_began_ = now;
    told_ = 0;
  }
  if (told_ > kMostTold) return "";
  if (told_++ == kMostTold) {
    return "other files are in trouble, too: `penstock status` and `penstock explain JOB` name them";
  }
  trouble->told = now;
  trouble->was_told = true;
  return LineOf(file, *trouble, now);
}

void FileErrors::Failed(const std::string& file, const absl::Status& status, const std::string& next) {
  std::string line;
  const Nanos now = clock_->Now();
  {
    MutexLock lock(&mutex_);
    Trouble* const trouble = Find(file, now);
    if (trouble == nullptr) return;
    trouble->what = std::string(status.message());
    trouble->next = next;
    ++trouble->tries;
    line = Told(file, trouble, now);
  }
  if (tell_ && !line.empty()) tell_(line);
}

void FileErrors::Silent(const std::string& file, const std::string& what, Nanos silent, const std::string& next) {
  std::string line;
  const Nanos now = clock_->Now();
  {
    MutexLock lock(&mutex_);
    Trouble* const trouble = Find(file, now);
    if (trouble == nullptr) return;
    trouble->since = std::min(trouble->since, now - silent);
    trouble->what = what;
    trouble->next = next;
    line = Told(file, trouble, now);
  }
  if (tell_ && !line.empty()) tell_(line);
}

void FileErrors::Recovered(const std::string& file) {
  std::string line;
  {
    MutexLock lock(&mutex_);
    const auto it = errors_.find(file);
    if (it == errors_.end()) return;
    if (it->second.was_told) {
      line = absl::StrCat(file, ": is well again, after ", (clock_->Now() - it->second.since) / kSecond, " s");
    }
    errors_.erase(it);
  }
  if (tell_ && !line.empty()) tell_(line);
}

std::vector<std::string> FileErrors::Lines(size_t most, size_t bytes) const {
  const Nanos now = clock_->Now();
  std::vector<std::pair<Nanos, std::string>> found;
  {
    MutexLock lock(&mutex_);
    for (const auto& [file, trouble] : errors_) {
      if (now - trouble.last <= kKeptFor) found.emplace_back(trouble.since, LineOf(file, trouble, now));
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

}  // namespace penstock
