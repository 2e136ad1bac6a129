#include "client/cli/http_probe.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/no_sigpipe.h"
#include "base/owned_fd.h"
#include "base/status_macros.h"
#include "net/tls/ssl_context.h"

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

// A connection, with or without TLS. Each function blocks until the deadline at most.
class ProbeConnection {
 public:
  ProbeConnection(OwnedFd fd, SteadyTime deadline) : fd_(std::move(fd)), deadline_(deadline) {}

  // Agrees with the server on keys, and verifies its certificate.
  absl::Status BeginTls(const ProbeTls& tls, const std::string& host) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    PS_RETURN_IF_ERROR(net::UseCertificates(tls.certificates, context_.get()));
    ssl_.reset(SSL_new(context_.get()));
    const std::string& name = tls.name.empty() ? host : tls.name;
    X509_VERIFY_PARAM* const expected = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) != 1) {
      X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
      SSL_set1_host(ssl_.get(), name.c_str());
      SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
    }
    SSL_set_fd(ssl_.get(), fd_.get());
    while (true) {
      const int done = SSL_connect(ssl_.get());
      if (done == 1) return absl::OkStatus();
      PS_RETURN_IF_ERROR(Await(done, "no TLS connection"));
    }
  }

  absl::Status SendAll(std::string_view text) {
    while (!text.empty()) {
      size_t sent = 0;
      if (ssl_ != nullptr) {
        if (const int done = SSL_write_ex(ssl_.get(), text.data(), text.size(), &sent); done != 1) {
          PS_RETURN_IF_ERROR(Await(done, "the TLS connection broke"));
        }
      } else if (const ssize_t bytes = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); bytes >= 0) {
        sent = static_cast<size_t>(bytes);
      } else if (errno == EAGAIN) {
        PS_RETURN_IF_ERROR(WaitFor(fd_.get(), POLLOUT, deadline_));
      } else if (errno != EINTR) {
        return absl::UnavailableError(std::strerror(errno));
      }
      text.remove_prefix(sent);
    }
    return absl::OkStatus();
  }

  // Returns up to `size` bytes, and 0 at the end of the connection.
  absl::StatusOr<size_t> Read(char* out, size_t size) {
    while (true) {
      if (std::chrono::steady_clock::now() >= deadline_) return NoAnswer();
      if (ssl_ != nullptr) {
        size_t bytes = 0;
        const int done = SSL_read_ex(ssl_.get(), out, size, &bytes);
        if (done == 1) return bytes;
        const int why = SSL_get_error(ssl_.get(), done);
        if (why == SSL_ERROR_ZERO_RETURN) return 0;
        PS_RETURN_IF_ERROR(Await(done, "the TLS connection broke"));
        continue;
      }
      const ssize_t bytes = recv(fd_.get(), out, size, 0);
      if (bytes >= 0) return static_cast<size_t>(bytes);
      if (errno == EAGAIN) {
        PS_RETURN_IF_ERROR(WaitFor(fd_.get(), POLLIN, deadline_));
      } else if (errno != EINTR) {
        return absl::UnavailableError(std::strerror(errno));
      }
    }
  }

 private:
  // Waits until an operation of OpenSSL that returned `done` can continue, or returns its error.
  absl::Status Await(int done, std::string_view what) {
    const int why = SSL_get_error(ssl_.get(), done);
    if (why == SSL_ERROR_WANT_READ) return WaitFor(fd_.get(), POLLIN, deadline_);
    if (why == SSL_ERROR_WANT_WRITE) return WaitFor(fd_.get(), POLLOUT, deadline_);
    const long verified = SSL_get_verify_result(ssl_.get());  // NOLINT(google-runtime-int): OpenSSL's type
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    const std::string text = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                             : reason != nullptr   ? reason
                                                   : "the server closed it";
    ERR_clear_error();
    return absl::FailedPreconditionError(absl::StrCat(absl::string_view(what.data(), what.size()), ": ", text));
  }

  const OwnedFd fd_;
  const SteadyTime deadline_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, &SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
};

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
absl::StatusOr<std::string> ReadAnswer(ProbeConnection* connection) {
  std::string text;
  std::optional<size_t> all;
  while (text.size() < all.value_or(kMaxAnswerBytes)) {
    char buffer[4096];
    PS_ASSIGN_OR_RETURN(const size_t bytes, connection->Read(buffer, sizeof buffer));
    if (bytes == 0) break;
    text.append(buffer, bytes);
    if (!all.has_value()) all = BytesOfAnswer(text);
  }
  return text;
}

}  // namespace

absl::StatusOr<ProbeAnswer> ProbeHttp(const net::Address& address, const std::string& path,
                                      std::chrono::milliseconds timeout, const ProbeTls* tls) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + timeout;
  PS_ASSIGN_OR_RETURN(OwnedFd fd, ConnectTo(address, deadline));
  const NoSigpipe no_sigpipe;  // OpenSSL writes without MSG_NOSIGNAL
  ProbeConnection connection(std::move(fd), deadline);
  if (tls != nullptr) PS_RETURN_IF_ERROR(connection.BeginTls(*tls, address.host));
  PS_RETURN_IF_ERROR(connection.SendAll(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", address.ToString(),
                                                     "\r\nUser-Agent: penstock-health\r\nConnection: close\r\n\r\n")));
  PS_ASSIGN_OR_RETURN(const std::string text, ReadAnswer(&connection));
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
