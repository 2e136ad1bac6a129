#include "tests/support/http_server/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace penstock::support {
namespace {

bool SendAll(int socket, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

// Reads until `text` contains a whole request. Returns false at the end of the connection.
bool ReadRequest(int socket, std::string* text, ServedRequest* request) {
  const auto more = [&] {
    char buffer[8192];
    const ssize_t n = recv(socket, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    text->append(buffer, static_cast<size_t>(n));
    return true;
  };
  size_t end;
  while ((end = text->find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return false;
  }
  const std::vector<std::string> lines = absl::StrSplit(text->substr(0, end), "\r\n");
  const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
  if (first.size() < 2) return false;
  const std::pair<std::string, std::string> target = absl::StrSplit(first[1], absl::MaxSplits('?', 1));
  *request = {first[0], target.first, target.second, {}, {}};
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> field = absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    request->headers[absl::AsciiStrToLower(field.first)] = std::string(absl::StripAsciiWhitespace(field.second));
  }
  text->erase(0, end + 4);
  size_t length = 0;
  if (!absl::SimpleAtoi(request->headers["content-length"], &length)) length = 0;
  while (text->size() < length) {
    if (!more()) return false;
  }
  request->body = text->substr(0, length);
  text->erase(0, length);
  return true;
}

}  // namespace

std::string Unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out.push_back(static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::map<std::string, std::string> FieldsOfQuery(const std::string& query) {
  std::map<std::string, std::string> fields;
  for (const absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> field = absl::StrSplit(part, absl::MaxSplits('=', 1));
    fields[field.first] = Unescaped(field.second);
  }
  return fields;
}

HttpServer::HttpServer(Answer answer)
    : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  setenv("no_proxy", "127.0.0.1", 1);  // the machine may have a proxy
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  PS_CHECK(bind(listener_.get(), any, size) == 0);
  PS_CHECK(listen(listener_.get(), 128) == 0);
  PS_CHECK(getsockname(listener_.get(), any, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

HttpServer::~HttpServer() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    for (const int socket : open_) shutdown(socket, SHUT_RDWR);
  }
  shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  std::vector<std::thread> threads;
  {
    MutexLock lock(&mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string HttpServer::url() const { return absl::StrCat("http://127.0.0.1:", port_); }

void HttpServer::WaitForOpen(int connections) {
  MutexLock lock(&mutex_);
  while (static_cast<int>(open_.size()) != connections) open_changed_.Wait(&mutex_);
}

void HttpServer::Accept() {
  for (;;) {
    const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    MutexLock lock(&mutex_);
    if (closed_) {
      close(socket);
      return;
    }
    open_.push_back(socket);
    open_changed_.NotifyAll();
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void HttpServer::Serve(int socket) {
  std::string text;
  ServedRequest request;
  while (ReadRequest(socket, &text, &request)) {
    requests_.fetch_add(1);
    ServedAnswer answer = answer_(request);
    std::string head = absl::StrCat("HTTP/1.1 ", answer.status, " X\r\n");
    answer.headers.emplace_back("Content-Length", absl::StrCat(answer.body.size()));
    for (const auto& [name, value] : answer.headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
    head += "\r\n";
    std::string body = request.method == "HEAD" ? "" : answer.body;
    if (answer.cut_after.has_value()) body.resize(std::min(body.size(), *answer.cut_after));
    if (answer.stall_after.has_value()) body.resize(std::min(body.size(), *answer.stall_after));
    if (!SendAll(socket, head + body) || answer.cut_after.has_value()) break;
    if (answer.stall_after.has_value()) {
      char byte;
      while (recv(socket, &byte, 1, 0) > 0) {
      }
      break;
    }
  }
  MutexLock lock(&mutex_);
  std::erase(open_, socket);
  open_changed_.NotifyAll();
  close(socket);
}

ServedFault& ServedFault::operator=(Answer answer) {
  auto next = answer == nullptr ? nullptr : std::make_shared<Current>();
  if (next != nullptr) next->answer = std::move(answer);
  MutexLock lock(&mutex_);
  const std::shared_ptr<Current> before = std::exchange(current_, std::move(next));
  while (before != nullptr && before->running > 0) returned_.Wait(&mutex_);
  return *this;
}

std::optional<ServedAnswer> ServedFault::operator()(const ServedRequest& request) {
  std::shared_ptr<Current> current;
  {
    MutexLock lock(&mutex_);
    if (current_ == nullptr) return std::nullopt;
    current = current_;
    ++current->running;
  }
  std::optional<ServedAnswer> answer = current->answer(request);
  MutexLock lock(&mutex_);
  --current->running;
  returned_.NotifyAll();
  return answer;
}

}  // namespace penstock::support
