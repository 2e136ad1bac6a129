#include "client/cli/http_probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/owned_fd.h"
#include "base/status_macros.h"

namespace penstock::cli {
namespace {

constexpr size_t kMaxAnswerBytes = 64 << 10;

using SteadyTime = std::chrono::steady_clock::time_point;

absl::Status NoAnswer() { return absl::DeadlineExceededError("no answer in time"); }

// Blocks until the socket is ready for `events`.
absl::Status WaitFor(int fd, short events, SteadyTime deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return NoAnswer();
    pollfd one{fd, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(left.count()));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::UnavailableError(std::strerror(errno));
  }
}

absl::StatusOr<OwnedFd> Connect(const addrinfo& info, SteadyTime deadline) {
  OwnedFd fd(socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info.ai_protocol));
  if (!fd) return absl::UnavailableError(std::strerror(errno));
  if (connect(fd.get(), info.ai_addr, info.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return absl::UnavailableError(std::strerror(errno));
    PS_RETURN_IF_ERROR(WaitFor(fd.get(), POLLOUT, deadline));
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return absl::UnavailableError(std::strerror(error));
  }
  return fd;
}

absl::StatusOr<OwnedFd> ConnectTo(const net::Address& address, SteadyTime deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &list);
  if (failed != 0) return absl::UnavailableError(gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  absl::StatusOr<OwnedFd> fd = absl::UnavailableError("the host has no address");
  for (const addrinfo* info = list; info != nullptr && !fd.ok(); info = info->ai_next) fd = Connect(*info, deadline);
  return fd;
}

absl::Status SendAll(int fd, std::string_view text, SteadyTime deadline) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      PS_RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return absl::UnavailableError(std::strerror(errno));
    }
  }
  return absl::OkStatus();
}

// Returns the number of bytes of an answer that begins with `text`, or nullopt if it ends with the connection or the
// head is incomplete.
std::optional<size_t> BytesOfAnswer(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text).substr(0, end), "\r\n")) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    uint64_t bytes = 0;
    if (absl::EqualsIgnoreCase(field.first, "content-length") &&
        absl::SimpleAtoi(absl::StripAsciiWhitespace(field.second), &bytes)) {
      return end + 4 + std::min<uint64_t>(bytes, kMaxAnswerBytes);
    }
  }
  return std::nullopt;
}

// Reads until the answer is complete, the connection ends, or the answer is too long.
absl::StatusOr<std::string> ReadAnswer(int fd, SteadyTime deadline) {
  std::string text;
  std::optional<size_t> all;
  while (text.size() < all.value_or(kMaxAnswerBytes)) {
    char buffer[4096];
    const ssize_t bytes = recv(fd, buffer, sizeof buffer, 0);
    if (bytes == 0) break;
    if (bytes > 0) {
      text.append(buffer, static_cast<size_t>(bytes));
      if (!all.has_value()) all = BytesOfAnswer(text);
    } else if (errno == EAGAIN) {
      PS_RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline));
    } else if (errno != EINTR) {
      return absl::UnavailableError(std::strerror(errno));
    }
    if (std::chrono::steady_clock::now() >= deadline) return NoAnswer();
  }
  return text;
}

}  // namespace

absl::StatusOr<ProbeAnswer> ProbeHttp(const net::Address& address, const std::string& path,
                                      std::chrono::milliseconds timeout) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + timeout;
  PS_ASSIGN_OR_RETURN(const OwnedFd fd, ConnectTo(address, deadline));
  PS_RETURN_IF_ERROR(SendAll(fd.get(),
                             absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", address.ToString(),
                                          "\r\nUser-Agent: penstock-health\r\nConnection: close\r\n\r\n"),
                             deadline));
  PS_ASSIGN_OR_RETURN(const std::string text, ReadAnswer(fd.get(), deadline));
  ProbeAnswer answer;
  const size_t end = text.find("\r\n\r\n");
  const bool http = text.size() >= 13 && absl::StartsWith(text, "HTTP/1.") && text[8] == ' ';
  if (!http || end == std::string::npos || !absl::SimpleAtoi(text.substr(9, 3), &answer.status)) {
    return absl::FailedPreconditionError("this is no HTTP server");
  }
  answer.body = text.substr(end + 4, kMaxAnswerBytes);
  return answer;
}

}  // namespace penstock::cli
