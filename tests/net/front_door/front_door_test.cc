#include "net/front_door/front_door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace penstock::net {
namespace {

using ::testing::HasSubstr;

class FrontDoorTest : public ::testing::Test {
 protected:
  void Listen(const std::string& host, ConnectionLimits limits) {
    FrontDoorOptions options;
    options.limits = limits;
    options.on_rejected = [this](const std::string& from, const std::string& reason) {
      MutexLock lock(&mutex_);
      rejected_.emplace_back(from, reason);
      changed_.NotifyAll();
    };
    auto door = FrontDoor::Listen({host, 0}, std::move(options));
    ASSERT_TRUE(door.ok()) << door.status();
    door_ = *std::move(door);
    const absl::Status open = door_->Open([this](int fd) {
      MutexLock lock(&mutex_);
      accepted_.emplace_back(fd);
      changed_.NotifyAll();
    });
    ASSERT_TRUE(open.ok()) << open;
  }
  // Connects to the door from an address of this host.
  OwnedFd Connect(const std::string& from = "127.0.0.1") {
    OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in mine = {}, to = {};
    mine.sin_family = to.sin_family = AF_INET;
    inet_pton(AF_INET, from.c_str(), &mine.sin_addr);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(door_->port());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&mine), sizeof mine), 0);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  // Returns whether the other side closes the connection.
  static bool IsClosed(const OwnedFd& fd) {
    char byte;
    const ssize_t got = recv(fd.get(), &byte, 1, 0);
    return got <= 0;
  }
  void WaitForAccepted(size_t connections) {
    MutexLock lock(&mutex_);
    while (accepted_.size() < connections) changed_.Wait(&mutex_);
  }
  void WaitForRejected(size_t connections) {
    MutexLock lock(&mutex_);
    while (rejected_.size() < connections) changed_.Wait(&mutex_);
  }
  std::vector<std::pair<std::string, std::string>> rejected() {
    MutexLock lock(&mutex_);
    return rejected_;
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<OwnedFd> accepted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, std::string>> rejected_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<FrontDoor> door_;
};

TEST_F(FrontDoorTest, PassesOnConnectionsThatDoNotBlock) {
  Listen("127.0.0.1", {});
  const OwnedFd mine = Connect();
  WaitForAccepted(1);
  MutexLock lock(&mutex_);
  EXPECT_NE(fcntl(accepted_[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(accepted_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(FrontDoorTest, ListensOnAllAddressesOfAName) {
  Listen("localhost", {});
  const OwnedFd mine = Connect();
  WaitForAccepted(1);
}

TEST_F(FrontDoorTest, ListensOnAllAddressesOfTheHost) {
  Listen("0.0.0.0", {});
  const OwnedFd mine = Connect("127.0.0.9");
  WaitForAccepted(1);
}

TEST_F(FrontDoorTest, ClosesTheConnectionsOverTheLimitOfAHostAndNamesIt) {
  ConnectionLimits limits;
  limits.per_host = 2;
  Listen("127.0.0.1", limits);
  const OwnedFd a = Connect("127.0.0.7"), b = Connect("127.0.0.7"), c = Connect("127.0.0.7"), d = Connect("127.0.0.8");
  EXPECT_TRUE(IsClosed(c));
  WaitForAccepted(3);
  ASSERT_EQ(rejected().size(), 1u);
  EXPECT_EQ(rejected()[0].first, "127.0.0.7");
  EXPECT_THAT(rejected()[0].second, HasSubstr("limits.connections_per_host"));
}

TEST_F(FrontDoorTest, CountsAConnectionUntilTheServerClosesIt) {
  ConnectionLimits limits;
  limits.per_host = 1;
  Listen("127.0.0.1", limits);
  const OwnedFd a = Connect();
  WaitForAccepted(1);
  {
    MutexLock lock(&mutex_);
    accepted_.clear();
  }
  const OwnedFd b = Connect();
  WaitForAccepted(1);
  EXPECT_TRUE(rejected().empty());
}

TEST_F(FrontDoorTest, DisconnectsAHost) {
  Listen("127.0.0.1", {});
  const OwnedFd a = Connect("127.0.0.7"), b = Connect("127.0.0.8");
  WaitForAccepted(2);
  door_->Disconnect("127.0.0.7");
  EXPECT_TRUE(IsClosed(a));
  char byte = 'x';
  EXPECT_EQ(recv(b.get(), &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(FrontDoorTest, AcceptsAgainAfterTheProcessHadNoDescriptors) {
  Listen("127.0.0.1", {});
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  std::vector<OwnedFd> mine;
  for (int i = 0; i < 4; ++i) mine.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const OwnedFd last(dup(mine.back().get()));
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(last.get());  // no descriptor above those in use
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(door_->port());
  for (const OwnedFd& fd : mine) EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  WaitForRejected(1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  WaitForAccepted(4);
  EXPECT_THAT(rejected()[0].second, HasSubstr("cannot accept"));
}

TEST_F(FrontDoorTest, NamesABusyPort) {
  Listen("127.0.0.1", {});
  const auto second = FrontDoor::Listen({"127.0.0.1", door_->port()}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr("another process listens there already"));
}

TEST_F(FrontDoorTest, NamesAnAddressOfAnotherHost) {
  const auto door = FrontDoor::Listen({"192.0.2.1", 0}, {});
  EXPECT_EQ(door.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(door.status().message(), HasSubstr("cannot listen on 192.0.2.1:0"));
}

}  // namespace
}  // namespace penstock::net
