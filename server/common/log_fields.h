// Log lines about a job, a session, a worker, a peer or a trace. With --log-json they have fields of their own for
// these, so that a collector of logs can select them. Code logs other lines with spdlog::info(...) and friends.
#ifndef PENSTOCK_SERVER_COMMON_LOG_FIELDS_H_
#define PENSTOCK_SERVER_COMMON_LOG_FIELDS_H_

#include <spdlog/spdlog.h>

#include <string_view>
#include <utility>

namespace penstock::server {

// The subjects of a line. Empty texts are left out. A view: the texts must live until the call that logs has returned.
// Ids of sessions and traces are secrets, so only their labels may be here (net/session_label.h).
struct LogFields {
  std::string_view job = {};
  std::string_view session = {};  // label
  std::string_view worker = {};   // display name
  std::string_view peer = {};     // as transport::Peer::ToString() shows it
  std::string_view trace = {};    // label
};

// Attaches fields to the lines that this thread logs during its lifetime. `fields` must outlive it. Works because the
// logger of SetUpLogging formats each line on the thread that logs it.
class AttachedLogFields {
 public:
  explicit AttachedLogFields(const LogFields& fields);
  ~AttachedLogFields();
  AttachedLogFields(const AttachedLogFields&) = delete;
  AttachedLogFields& operator=(const AttachedLogFields&) = delete;

  // Returns the fields of the line that this thread logs now, or null if it has none.
  static const LogFields* Current();

 private:
  const LogFields* const before_;
};

// Log a line as spdlog::log, spdlog::info and spdlog::warn do. The text form of the log has only the message, which
// must therefore name its job or worker as well. Thread-safe. If the level is off, they format nothing.
template <typename... Args>
void Log(spdlog::level::level_enum level, const LogFields& fields, spdlog::format_string_t<Args...> format,
         Args&&... args) {
  if (!spdlog::should_log(level)) return;
  const AttachedLogFields attached(fields);
  spdlog::log(level, format, std::forward<Args>(args)...);
}

template <typename... Args>
void LogInfo(const LogFields& fields, spdlog::format_string_t<Args...> format, Args&&... args) {
  Log(spdlog::level::info, fields, format, std::forward<Args>(args)...);
}

template <typename... Args>
void LogWarn(const LogFields& fields, spdlog::format_string_t<Args...> format, Args&&... args) {
  Log(spdlog::level::warn, fields, format, std::forward<Args>(args)...);
}

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_LOG_FIELDS_H_
