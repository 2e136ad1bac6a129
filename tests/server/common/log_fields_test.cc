// Log lines with the job, session, worker, peer or trace that they are about.
#include "server/common/log_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/log_lines.h"

namespace penstock::server {

// A value that counts how often it is formatted.
struct CountsFormatting {
  int* count;
};

}  // namespace penstock::server

template <>
struct fmt::formatter<penstock::server::CountsFormatting> : fmt::formatter<int> {
  auto format(const penstock::server::CountsFormatting& value, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", ++*value.count);
  }
};

namespace penstock::server {
namespace {

using support::CapturedLog;
using support::FieldOf;
using ::testing::EndsWith;

std::vector<std::string> KeysOf(const nlohmann::json& line) {
  std::vector<std::string> keys;
  for (const auto& item : line.items()) keys.push_back(item.key());
  return keys;
}

TEST(LogFields, AJsonLineHasTheFieldsThatAreSet) {
  CapturedLog log;
  LogInfo({.job = "train", .worker = "w1"}, "job {} is on {}", "train", "w1");
  LogWarn({.job = "a", .session = "1a2b3c4d", .worker = "b", .peer = "10.0.0.7:5123", .trace = "7f3a"}, "all");
  const std::vector<nlohmann::json> lines = log.TakeLines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(KeysOf(lines[0]), ::testing::ElementsAre("job", "level", "message", "thread", "time", "worker"));
  EXPECT_EQ(FieldOf(lines[0], "message"), "job train is on w1");
  EXPECT_EQ(FieldOf(lines[0], "level"), "info");
  EXPECT_EQ(FieldOf(lines[0], "job"), "train");
  EXPECT_EQ(FieldOf(lines[0], "worker"), "w1");
  EXPECT_EQ(FieldOf(lines[1], "level"), "warning");
  EXPECT_EQ(FieldOf(lines[1], "session"), "1a2b3c4d");
  EXPECT_EQ(FieldOf(lines[1], "peer"), "10.0.0.7:5123");
  EXPECT_EQ(FieldOf(lines[1], "trace"), "7f3a");
}

TEST(LogFields, AJsonLineIsValidForAnyText) {
  // The texts as a reader of the line gets them.
  const std::map<std::string, std::string> texts = {
      {"a \"quoted\" name", "a \"quoted\" name"},
      {"two\nlines\r\n\ttab", "two\nlines\r\n\ttab"},
      {"\",\"level\":\"critical\"}", "\",\"level\":\"critical\"}"},
      {"back\\slash\\", "back\\slash\\"},
      {std::string("\x01\x1f\x7f\0", 4), std::string("\x01\x1f\x7f\0", 4)},
      {"\xff cut \xe2\x82", "\xef\xbf\xbd cut \xef\xbf\xbd\xef\xbf\xbd"},
      {"größe 日本", "größe 日本"},
      {"{} {0}", "{} {0}"},
  };
  CapturedLog log;
  for (const auto& [text, shown] : texts) {
    LogInfo({.job = text, .session = text, .worker = text, .peer = text, .trace = text}, "{}", text);
    const std::vector<nlohmann::json> lines = log.TakeLines();
    ASSERT_EQ(lines.size(), 1u) << text;
    for (const char* field : {"message", "job", "session", "worker", "peer", "trace"}) {
      EXPECT_EQ(FieldOf(lines[0], field), shown) << field;
    }
    EXPECT_EQ(FieldOf(lines[0], "level"), "info");
  }
}

TEST(LogFields, ATextLineHasOnlyTheMessage) {
  CapturedLog log("info", false);
  LogInfo({.job = "train", .peer = "10.0.0.7:5123"}, "job {} is READY", "train");
  spdlog::info("job {} is READY", "train");
  const std::string text = log.TakeText();
  const size_t end = text.find('\n') + 1;
  EXPECT_THAT(text.substr(0, end), EndsWith("Z I job train is READY\n"));
  EXPECT_EQ(text.substr(0, end).size(), text.substr(end).size()) << text;
}

TEST(LogFields, ALevelThatIsOffFormatsNothing) {
  CapturedLog log("warn");
  int count = 0;
  LogInfo({.job = "train"}, "{}", CountsFormatting{&count});
  EXPECT_EQ(count, 0);
  LogWarn({.job = "train"}, "{}", CountsFormatting{&count});
  EXPECT_EQ(count, 1);
  EXPECT_EQ(log.TakeLines().size(), 1u);
}

TEST(LogFields, BelongToOneLineOfOneThread) {
  constexpr int kLines = 200;
  CapturedLog log;
  std::vector<std::thread> threads;
  for (const std::string job : {"a", "b", "c"}) {
    threads.emplace_back([job] {
      for (int i = 0; i < kLines; ++i) {
        LogInfo({.job = job}, "{}", job);
        spdlog::info("");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<nlohmann::json> lines = log.TakeLines();
  EXPECT_EQ(lines.size(), 6u * kLines);
  for (const nlohmann::json& line : lines) EXPECT_EQ(FieldOf(line, "job"), FieldOf(line, "message"));
}

}  // namespace
}  // namespace penstock::server
