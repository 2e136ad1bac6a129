// Parts that all daemons share: the state directory, systemd's notifications, signals, the log, the bind check.
#include <gmock/gmock.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "penstock/v1/control.pb.h"
#include "server/common/bind_check.h"
#include "server/common/library_logs.h"
#include "server/common/logging.h"
#include "server/common/recent_log.h"
#include "server/common/sd_notify.h"
#include "server/common/signals.h"
#include "server/common/state_dir.h"

namespace penstock::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CommonTest : public ::testing::Test {
 protected:
  CommonTest() : dir_(fs::path(::testing::TempDir()) / ("penstock-common-" + std::to_string(getpid()))) {
    fs::remove_all(dir_);
  }
  ~CommonTest() override { fs::remove_all(dir_); }
  fs::path dir_;
};

using StateDirTest = CommonTest;
using SdNotifyTest = CommonTest;

TEST_F(StateDirTest, IsCreatedWithItsParents) {
  const auto dir = StateDir::Open((dir_ / "a" / "b").string(), "worker");
  ASSERT_TRUE(dir.ok()) << dir.status();
  EXPECT_TRUE(fs::is_directory(dir_ / "a" / "b"));
  EXPECT_EQ(dir->path(), (dir_ / "a" / "b").string());
}

TEST_F(StateDirTest, ASecondHolderIsRejectedUntilTheFirstHasEnded) {
  auto first = StateDir::Open(dir_.string(), "worker");
  ASSERT_TRUE(first.ok());
  const auto second = StateDir::Open(dir_.string(), "worker");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(dir_.string()));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(std::to_string(getpid())));
  EXPECT_TRUE(StateDir::Open(dir_.string(), "coordinator").ok());
  {
    const StateDir moved = *std::move(first);
    EXPECT_FALSE(StateDir::Open(dir_.string(), "worker").ok());
  }
  EXPECT_TRUE(StateDir::Open(dir_.string(), "worker").ok());
}

TEST_F(StateDirTest, NamesAFolderThatCannotBeCreated) {
  fs::create_directories(dir_);
  std::fclose(std::fopen((dir_ / "file").c_str(), "w"));
  const auto dir = StateDir::Open((dir_ / "file" / "state").string(), "worker");
  EXPECT_FALSE(dir.ok());
  EXPECT_THAT(std::string(dir.status().message()), HasSubstr((dir_ / "file").string()));
  EXPECT_EQ(StateDir::Open("", "worker").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SdNotifyTest, DoesNothingWithoutASocket) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(SdNotify("READY=1").ok());
}

TEST_F(SdNotifyTest, SendsOneDatagramToTheSocket) {
  fs::create_directories(dir_);
  const std::string path = (dir_ / "notify").string();
  for (const std::string& name : {path, "@" + path}) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (name[0] == '@') address.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_TRUE(SdNotify("STOPPING=1").ok());
    char buffer[64];
    const ssize_t length = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    EXPECT_EQ(std::string(buffer, length > 0 ? static_cast<size_t>(length) : 0), "STOPPING=1");
    close(fd);
  }
  fs::remove(path);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  EXPECT_FALSE(SdNotify("READY=1").ok());
  setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_EQ(SdNotify("READY=1").code(), absl::StatusCode::kInvalidArgument);
  unsetenv("NOTIFY_SOCKET");
}

TEST(SignalWaiterTest, TheFirstSignalDrainsAndTheSecondQuits) {
  std::promise<void> first, second;
  {
    SignalWaiter waiter([&] { first.set_value(); }, [&] { second.set_value(); });
    kill(getpid(), SIGTERM);
    first.get_future().wait();
    kill(getpid(), SIGINT);
    second.get_future().wait();
    kill(getpid(), SIGTERM);
  }
  // The waiter may have ended before it received the third signal, which the next waiter would then receive first.
  sigset_t left;
  sigemptyset(&left);
  sigaddset(&left, SIGTERM);
  const timespec at_once{};
  sigtimedwait(&left, nullptr, &at_once);
}

TEST(SignalWaiterTest, EndsWithoutASignal) {
  SignalWaiter waiter([] { FAIL(); }, [] { FAIL(); });
}

TEST(Logging, JsonLinesAreValidForAnyMessage) {
  EXPECT_TRUE(SetUpLogging("debug", true).ok());
  ::testing::internal::CaptureStderr();
  spdlog::debug("job \"{}\"", "train");
  spdlog::trace("not shown");
  const std::string line = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(line, HasSubstr("\"level\":\"debug\""));
  EXPECT_THAT(line, HasSubstr("\"message\":\"job \\\"train\\\"\"}"));
  EXPECT_THAT(line, Not(HasSubstr("not shown")));
}

TEST(Logging, LogLinesOfLibrariesGoToTheLog) {
  EXPECT_TRUE(SetUpLogging("debug", true).ok());
  RouteLibraryLogs();
  ::testing::internal::CaptureStderr();
  gpr_log(GPR_ERROR, "assertion failed: %s", "x == 1");
  // protobuf reports on stderr that a string is not UTF-8.
  v1::CancelRequest request;
  request.set_job("\xff");
  (void)request.SerializeAsString();
  const std::string text = ::testing::internal::GetCapturedStderr();
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++lines;
    EXPECT_TRUE(absl::StartsWith(line, "{\"time\":") && absl::EndsWith(line, "\"}")) << line;
  }
  EXPECT_GE(lines, 1) << text;
  EXPECT_THAT(text, HasSubstr("gRPC, "));
  EXPECT_THAT(text, HasSubstr("assertion failed: x == 1"));
}

TEST(Logging, TheLastThousandLinesAreKept) {
  EXPECT_TRUE(SetUpLogging("debug", false).ok());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 1001; ++i) spdlog::debug("line {}.", i);
  spdlog::trace("not shown");
  spdlog::info(std::string(5000, 'x'));
  ::testing::internal::GetCapturedStderr();
  const std::string text = RecentLog::OfProcess()->Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1000);
  EXPECT_THAT(text, Not(HasSubstr("D line 1.\n")));
  EXPECT_THAT(text, HasSubstr("D line 2.\n"));
  EXPECT_THAT(text, HasSubstr("D line 1000.\n"));
  EXPECT_THAT(text, HasSubstr("xxx...\n"));
  EXPECT_LT(text.size(), 60'000u);
}

TEST(Logging, LevelsHaveNames) {
  for (const char* level : {"", "trace", "debug", "info", "warn", "error"}) {
    EXPECT_TRUE(SetUpLogging(level, false).ok()) << level;
  }
  const absl::Status status = SetUpLogging("loud", false);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("loud"));
}

TEST(BindCheck, AllowsPlaintextOnlyOnLoopbackUnlessInsecureIsSet) {
  for (const char* address : {"127.0.0.1:7070", "localhost:0", "[::1]:7070"}) {
    EXPECT_TRUE(CheckPlaintextBind(address, {}).ok()) << address;
  }
  const absl::Status status = CheckPlaintextBind("0.0.0.0:7070", {});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0.0.0.0:7070"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--insecure"));
  EXPECT_TRUE(CheckPlaintextBind("0.0.0.0:7070", {.insecure = true}).ok());
  EXPECT_EQ(CheckPlaintextBind("nonsense", {.insecure = true}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::server
