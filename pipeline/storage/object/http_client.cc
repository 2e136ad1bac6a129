#include "pipeline/storage/object/http_client.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/version.h"

namespace penstock {
namespace {

constexpr Nanos kLongestSleep = kSecond;
constexpr size_t kPriorities = 3;
constexpr size_t kMostHeaders = 200;

// libcurl's own path of certificates is that of the machine on which it was built. "" where none is known.
const std::string& CertificatesFile() {
  static const std::string path = [] {
    for (const char* variable : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
      if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return std::string(value);
    }
    for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                             "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
      std::error_code error;
      if (std::filesystem::exists(file, error)) return std::string(file);
    }
    return std::string();
  }();
  return path;
}

const std::string& UserAgent() {
  static const std::string name = absl::StrCat("penstock/", std::string(Version()));
  return name;
}

struct Call {
  HttpRequest request;
  CallPriority priority = CallPriority::kNormal;
  std::stop_token stop;
  HttpClient::Done done;
  Nanos not_before = 0;

  CURL* easy = nullptr;
  HttpResponse response;
  bool too_long = false;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error = {};

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { curl_slist_free_all(headers); }
};

size_t TakeHeader(char* data, size_t size, size_t count, void* user) {
  auto* call = static_cast<Call*>(user);
  const absl::string_view line(data, size * count);
  auto& headers = call->response.headers;
  if (absl::StartsWith(line, "HTTP/")) headers.clear();  // another answer: a redirect led to it
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos && headers.size() < kMostHeaders) {
    headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return size * count;
}

size_t TakeBody(char* data, size_t size, size_t count, void* user) {
  auto* call = static_cast<Call*>(user);
  const size_t bytes = size * count;
  long status = 0;
  curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
  HttpResponse& response = call->response;
  // The text of an error is not what the caller's memory is for.
  const bool to_caller = call->request.out != nullptr && status >= 200 && status < 300;
  const size_t room = (to_caller ? call->request.capacity : HttpClient::kMostBody) - response.bytes;
  if (bytes > room) {
    call->too_long = true;
    return 0;
  }
  if (to_caller) {
    std::memcpy(call->request.out + response.bytes, data, bytes);
  } else {
    response.body.append(data, bytes);
  }
  response.bytes += bytes;
  return bytes;
}

void Configure(Call* call) {
  CURL* const easy = call->easy;
  const HttpRequest& request = call->request;
  curl_easy_reset(easy);
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  set(CURLOPT_PRIVATE, call);
  set(CURLOPT_ERRORBUFFER, call->error.data());
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, request.follow_redirects ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_NOSIGNAL, 1L);
  // A proxy has another machine's, and should see neither the question nor the keys.
  if (request.direct) set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connecting / kMillisecond));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max<long>(1, static_cast<long>(request.silence / kSecond)));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // HTTP/1.1 with a connection for each: one lost packet holds up one range, and no server limits streams.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_USERAGENT, UserAgent().c_str());
  if (!CertificatesFile().empty()) set(CURLOPT_CAINFO, CertificatesFile().c_str());
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, call);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, call);
  for (const std::string& header : request.headers) call->headers = curl_slist_append(call->headers, header.c_str());
  if (request.method == HttpRequest::Method::kHead) {
    set(CURLOPT_NOBODY, 1L);
  } else if (request.method != HttpRequest::Method::kGet) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
    if (request.method == HttpRequest::Method::kPut) set(CURLOPT_CUSTOMREQUEST, "PUT");
    if (request.method == HttpRequest::Method::kDelete) set(CURLOPT_CUSTOMREQUEST, "DELETE");
    // No question first whether it may be sent; and what is not called a form is none.
    call->headers = curl_slist_append(call->headers, "Expect:");
    const auto names_type = [](const std::string& header) {
      return absl::StartsWithIgnoreCase(header, "content-type:");
    };
    if (std::none_of(request.headers.begin(), request.headers.end(), names_type)) {
      call->headers = curl_slist_append(call->headers, "Content-Type:");
    }
  }
  set(CURLOPT_HTTPHEADER, call->headers);
}

absl::Status ErrorOf(const Call& call, CURLcode code) {
  if (call.too_long) {
    return absl::UnavailableError(
        absl::StrCat("the answer is longer than the ", call.request.capacity, " bytes that were asked for"));
  }
  const char* const text = call.error[0] != '\0' ? call.error.data() : curl_easy_strerror(code);
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) return absl::InvalidArgumentError(text);
  return absl::UnavailableError(text);
}

}  // namespace

class HttpClient::Loop {
 public:
  explicit Loop(int most_under_way) : most_under_way_(static_cast<size_t>(most_under_way)) {
    static const CURLcode ready =
        curl_global_init(CURL_GLOBAL_DEFAULT);  // once in a process; safe on any thread since 7.84
    static_cast<void>(ready);
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(most_under_way));
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "ps-http");
      Run();
    });
  }

  ~Loop() {
    {
      MutexLock lock(&mutex_);
      closed_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }

  void Add(std::unique_ptr<Call> call) {
    {
      MutexLock lock(&mutex_);
      if (!closed_) {
        arrived_.push_back(std::move(call));
      }
    }
    if (call == nullptr) {
      curl_multi_wakeup(multi_);
    } else {
      Cancel(std::move(call));
    }
  }

 private:
  static void Cancel(std::unique_ptr<Call> call) { std::move(call->done)(absl::CancelledError("cancelled")); }

  void Run() {
    for (bool closed = false; !closed;) {
      {
        MutexLock lock(&mutex_);
        closed = closed_;
        for (auto& call : arrived_) waiting_.push_back(std::move(call));
        arrived_.clear();
      }
      const Nanos sleep = StartThoseDue();
      int running = 0;
      curl_multi_perform(multi_, &running);
      const bool ended = FinishThoseEnded();
      if (!closed && !ended) curl_multi_poll(multi_, nullptr, 0, static_cast<int>(sleep / kMillisecond) + 1, nullptr);
    }
    for (auto& call : waiting_) Cancel(std::move(call));
    for (Call* call : std::exchange(under_way_, {})) {
      curl_multi_remove_handle(multi_, call->easy);
      idle_.push_back(call->easy);
      Cancel(std::unique_ptr<Call>(call));
    }
  }

  // Returns for how long there is nothing more to start.
  Nanos StartThoseDue() {
    const Nanos now = Clock::Real()->Now();
    Nanos sleep = kLongestSleep;
    std::deque<std::unique_ptr<Call>> later, due[kPriorities];
    for (auto& call : waiting_) {
      if (call->stop.stop_requested()) {
        Cancel(std::move(call));
      } else if (call->not_before > now) {
        sleep = std::min(sleep, call->not_before - now);
        later.push_back(std::move(call));
      } else {
        due[static_cast<size_t>(call->priority)].push_back(std::move(call));
      }
    }
    waiting_ = std::move(later);
    for (auto& calls : due) {
      for (auto& call : calls) {
        if (under_way_.size() < most_under_way_) {
          Start(std::move(call));
        } else {
          waiting_.push_back(std::move(call));
        }
      }
    }
    return sleep;
  }

  void Start(std::unique_ptr<Call> owned) {
    Call* const call = owned.release();
    if (idle_.empty()) {
      call->easy = curl_easy_init();
    } else {
      call->easy = idle_.back();
      idle_.pop_back();
    }
    Configure(call);
    curl_multi_add_handle(multi_, call->easy);
    under_way_.push_back(call);
  }

  bool FinishThoseEnded() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode code = message->data.result;
      Call* call = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
      const std::unique_ptr<Call> owned(call);
      std::erase(under_way_, call);
      long status = 0;
      curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
      call->response.status = static_cast<int>(status);
      curl_multi_remove_handle(multi_, call->easy);
      idle_.push_back(call->easy);
      if (code == CURLE_OK) {
        std::move(call->done)(std::move(call->response));
      } else {
        std::move(call->done)(ErrorOf(*call, code));
      }
    }
    return any;
  }

  const size_t most_under_way_;
  CURLM* multi_ = nullptr;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::unique_ptr<Call>> arrived_ ABSL_GUARDED_BY(mutex_);
  // Of the thread alone.
  std::deque<std::unique_ptr<Call>> waiting_;
  std::vector<Call*> under_way_;
  std::vector<CURL*> idle_;
  std::thread thread_;
};

HttpClient::HttpClient(int most_under_way) : loop_(std::make_unique<Loop>(most_under_way)) {}
HttpClient::~HttpClient() = default;

void HttpClient::Send(HttpRequest request, const CallOptions& options, Done done, Nanos delay) {
  auto call = std::make_unique<Call>();
  call->request = std::move(request);
  call->priority = options.priority;
  call->stop = options.stop;
  call->done = std::move(done);
  if (delay > 0) call->not_before = Clock::Real()->Now() + delay;
  loop_->Add(std::move(call));
}

}  // namespace penstock
