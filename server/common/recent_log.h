// The last lines of the process's log, for support files.
#ifndef PENSTOCK_SERVER_COMMON_RECENT_LOG_H_
#define PENSTOCK_SERVER_COMMON_RECENT_LOG_H_

#include <spdlog/sinks/base_sink.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

namespace penstock::server {

// Keeps the last 1,000 lines, each cut to 2 KiB. Thread-safe. Formats a line when it is logged, because its LogFields
// belong to the thread that logs it; spdlog's own ring buffer formats later.
class RecentLog final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static constexpr size_t kMostLines = 1000;
  static constexpr size_t kMostLineBytes = 2048;

  // The process's lines. SetUpLogging fills it.
  static const std::shared_ptr<RecentLog>& OfProcess();

  // Returns the lines, oldest first.
  std::string Text();

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

 private:
  std::deque<std::string> lines_;  // guarded by mutex_ of the base class
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_RECENT_LOG_H_
