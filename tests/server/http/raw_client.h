// A client that sends any bytes to a server on this host.
#ifndef PENSTOCK_TESTS_SERVER_HTTP_RAW_CLIENT_H_
#define PENSTOCK_TESTS_SERVER_HTTP_RAW_CLIENT_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/owned_fd.h"

namespace penstock::server {

// If no byte arrives within a minute, a read ends as at the end of the connection, so that a test does not hang.
class RawClient {
 public:
  // `from` is a loopback address to connect from; null: the system's choice.
  explicit RawClient(int port, int receive_buffer = 0, const char* from = nullptr)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    PS_CHECK(fd_.get() >= 0);
    const timeval limit{60, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (receive_buffer > 0) setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (from != nullptr) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      PS_CHECK(inet_pton(AF_INET, from, &own.sin_addr) == 1);
      PS_CHECK(bind(fd_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) == 0);
    }
    PS_CHECK(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }

  // Returns false if the server has closed the connection.
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  bool Get(const std::string& path) { return Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"); }

  // Reads one answer: head and body. Returns less if the connection ends before.
  std::string Answer(bool has_body = true) {
    while (true) {
      const size_t end = text_.find("\r\n\r\n");
      if (end != std::string::npos) {
        const size_t field = text_.find("Content-Length: ");
        size_t all = end + 4;
        if (has_body && field < end) all += std::strtoul(text_.c_str() + field + 16, nullptr, 10);
        if (text_.size() >= all) {
          const std::string answer = text_.substr(0, all);
          text_.erase(0, all);
          return answer;
        }
      }
      if (!Read()) return std::exchange(text_, "");
    }
  }
  // Reads until the server closes the connection.
  std::string Rest() {
    while (Read()) {
    }
    return std::exchange(text_, "");
  }
  // Ends the stream of requests.
  void EndSending() { shutdown(fd_.get(), SHUT_WR); }

 private:
  bool Read() {
    char buffer[16384];
    const ssize_t bytes = recv(fd_.get(), buffer, sizeof buffer, 0);
    if (bytes <= 0) return false;
    text_.append(buffer, static_cast<size_t>(bytes));
    return true;
  }

  OwnedFd fd_;
  std::string text_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_TESTS_SERVER_HTTP_RAW_CLIENT_H_
