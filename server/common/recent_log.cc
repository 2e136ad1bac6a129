#include "server/common/recent_log.h"

#include "base/utf8.h"

namespace penstock::server {

const std::shared_ptr<RecentLog>& RecentLog::OfProcess() {
  static const auto* const log = new std::shared_ptr<RecentLog>(std::make_shared<RecentLog>());
  return *log;
}

std::string RecentLog::Text() {
  std::string text;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::string& line : lines_) text += line;
  return text;
}

void RecentLog::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string line(formatted.data(), formatted.size());
  if (line.size() > kMostLineBytes) {
    TruncateUtf8(&line, kMostLineBytes - 4);
    line += "...\n";
  }
  lines_.push_back(std::move(line));
  if (lines_.size() > kMostLines) lines_.pop_front();
}

}  // namespace penstock::server
