#include "server/common/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "server/common/log_fields.h"
#include "server/common/recent_log.h"

namespace penstock::server {
namespace {

void Append(std::string_view text, spdlog::memory_buf_t* out) { out->append(text.data(), text.data() + text.size()); }

// spdlog's %v does not escape, so JSON lines have their own flag.
class JsonMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    Append(JsonEscaped({message.payload.data(), message.payload.size()}), &out);
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<JsonMessage>(); }
};

// The line's LogFields, as further members of the object.
class JsonLogFields final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    const LogFields* const fields = AttachedLogFields::Current();
    if (fields == nullptr) return;
    AppendMember("job", fields->job, &out);
    AppendMember("session", fields->session, &out);
    AppendMember("worker", fields->worker, &out);
    AppendMember("peer", fields->peer, &out);
    AppendMember("trace", fields->trace, &out);
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<JsonLogFields>(); }

 private:
  static void AppendMember(std::string_view key, std::string_view value, spdlog::memory_buf_t* out) {
    if (value.empty()) return;
    for (const std::string_view part : {std::string_view(",\""), key, std::string_view("\":")}) Append(part, out);
    Append(Json::Quote(value), out);
  }
};

}  // namespace

absl::Status SetUpLogging(const std::string& level, bool json) {
  spdlog::level::level_enum parsed = spdlog::level::info;
  if (level == "trace") {
    parsed = spdlog::level::trace;
  } else if (level == "debug") {
    parsed = spdlog::level::debug;
  } else if (level == "warn") {
    parsed = spdlog::level::warn;
  } else if (level == "error") {
    parsed = spdlog::level::err;
  } else if (!level.empty() && level != "info") {
    return absl::InvalidArgumentError(
        absl::StrCat("log level \"", level, "\" is none of trace, debug, info, warn, error"));
  }
  auto logger = std::make_shared<spdlog::logger>(
      "penstock", spdlog::sinks_init_list{std::make_shared<spdlog::sinks::stderr_sink_mt>(), RecentLog::OfProcess()});
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonMessage>('*').add_flag<JsonLogFields>('&').set_pattern(
      json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","thread":%t,"message":"%*"%&})"
           : "%Y-%m-%dT%H:%M:%S.%eZ %^%L%$ %v");
  logger->set_formatter(std::move(formatter));
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

}  // namespace penstock::server
