// A web server that uses little CPU time: range_server PORT FOLDER DELAY_MS [ONE_IN LATE_MS] serves the files of a
// folder, with ranges, on 127.0.0.1. Each answer begins DELAY_MS after its request, and one of ONE_IN answers LATE_MS
// after it. For bench/object_storage.sh, where the server shares the machine with the measured program. A signal ends
// it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"

namespace penstock::bench {
namespace {

// Returns the value of a request's header, or "" if the request has none.
std::string HeaderIn(const std::string& request, const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(request);
  const size_t at = lower.find(absl::StrCat("\r\n", name, ":"));
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 3, end = request.find("\r\n", begin);
  return std::string(absl::StripAsciiWhitespace(request.substr(begin, end - begin)));
}

bool SendAll(int socket, const std::string& text, int flags) {
  return send(socket, text.data(), text.size(), flags | MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// Answers one request. Returns false if the connection must end.
bool Answer(int socket, const std::string& folder, const std::string& request) {
  const size_t path = request.find(' ') + 1;
  const std::string name = request.substr(path, request.find(' ', path) - path);
  const OwnedFd file(name.find("..") == std::string::npos ? open((folder + name).c_str(), O_RDONLY | O_CLOEXEC) : -1);
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return SendAll(socket, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 0);
  }
  unsigned long long first = 0, last = static_cast<unsigned long long>(info.st_size) - 1;
  const std::string range = HeaderIn(request, "range");
  const bool part = std::sscanf(range.c_str(), "bytes=%llu-%llu", &first, &last) == 2;
  last = std::min(last, static_cast<unsigned long long>(info.st_size) - 1);
  const std::string place =
      part ? absl::StrCat("content-range: bytes ", first, "-", last, "/", info.st_size, "\r\n") : "";
  const std::string head =
      absl::StrCat("HTTP/1.1 ", part ? "206 Partial Content" : "200 OK", "\r\netag: \"", info.st_size, "-",
                   info.st_mtim.tv_sec, "\"\r\n", place, "content-length: ", last + 1 - first, "\r\n\r\n");
  const bool body = !request.starts_with("HEAD");
  if (!SendAll(socket, head, body ? MSG_MORE : 0)) return false;
  if (!body) return true;
  off_t at = static_cast<off_t>(first);
  while (at <= static_cast<off_t>(last)) {
    if (sendfile(socket, file.get(), &at, static_cast<size_t>(static_cast<off_t>(last) + 1 - at)) <= 0) return false;
  }
  return true;
}

struct Delays {
  std::chrono::milliseconds each{0}, late{0};
  uint64_t one_in = 0;  // one in this number is late; 0: none

  std::chrono::milliseconds OfNext() {
    return one_in > 0 && answers_.fetch_add(1, std::memory_order_relaxed) % one_in == one_in - 1 ? late : each;
  }

 private:
  std::atomic<uint64_t> answers_{0};
};

void Serve(OwnedFd socket, const std::string& folder, Delays* delays) {
  std::string request;
  char buffer[4096];
  for (;;) {
    const ssize_t got = recv(socket.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return;
    request.append(buffer, static_cast<size_t>(got));
    if (!request.ends_with("\r\n\r\n")) continue;
    std::this_thread::sleep_for(delays->OfNext());
    if (!Answer(socket.get(), folder, request)) return;
    request.clear();
  }
}

int Main(int port, const std::string& folder, Delays* delays) {
  std::signal(SIGPIPE, SIG_IGN);
  const OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener.get(), 512)) {
    std::perror("range_server: the port");
    return 1;
  }
  for (;;) {
    OwnedFd accepted(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted) continue;
    setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::thread(Serve, std::move(accepted), folder, delays).detach();
  }
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6) {
    std::fprintf(stderr, "usage: range_server PORT FOLDER DELAY_MS [ONE_IN LATE_MS]\n");
    return 2;
  }
  static penstock::bench::Delays delays;  // the connections' threads use it until the end
  delays.each = std::chrono::milliseconds(std::atoi(argv[3]));
  if (argc == 6) {
    delays.one_in = static_cast<uint64_t>(std::atoll(argv[4]));
    delays.late = std::chrono::milliseconds(std::atoi(argv[5]));
  }
  return penstock::bench::Main(std::atoi(argv[1]), argv[2], &delays);
}
