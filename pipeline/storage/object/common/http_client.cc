#include "pipeline/storage/object/common/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/no_sigpipe.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "pipeline/storage/object/common/http_transfer.h"
#include "pipeline/storage/object/common/multi_poll.h"
#include "pipeline/storage/object/common/request_secrets.h"

namespace penstock::storage {
namespace {

constexpr Nanos kLongestSleep = kSecond;
// Interval at which a late request that may not be sent again yet is reconsidered.
constexpr Nanos kLookAgain = 50 * kMillisecond;
constexpr Nanos kListenAgain = kSecond / 2;  // interval of checks for silent requests
constexpr size_t kPriorities = 3;
constexpr size_t kMostHedged = 64;  // maximum number of storages with a hedge policy

}  // namespace

class HttpClient::Loop {
 public:
  Loop(int most_under_way, const HedgePolicy::Options& hedges, Clock* clock)
      : most_under_way_(static_cast<size_t>(most_under_way)), hedge_options_(hedges), clock_(clock) {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);  // once in a process; thread-safe since 7.84
    static_cast<void>(ready);
    multi_ = curl_multi_init();
    poll_.emplace(multi_);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(most_under_way));
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  }

  ~Loop() {
    {
      MutexLock lock(&mutex_);
      closed_ = true;
    }
    poll_->Wake();
    if (thread_.joinable()) thread_.join();
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }

  void Add(HttpRequest request, const CallOptions& options, Done done, Nanos delay) {
    auto call = std::make_unique<Call>();
    call->request = std::move(request);
    call->priority = options.priority;
    call->stop = options.stop;
    call->done = std::move(done);
    if (delay > 0) call->not_before = clock_->Now() + delay;
    if (options.stop.stop_possible()) call->when_stopped.emplace(options.stop, Wake{this});
    absl::Status started;
    {
      MutexLock lock(&mutex_);
      if (!closed_) started = NeedThread();
      if (!closed_ && started.ok()) arrived_.push_back(std::move(call));
    }
    if (call == nullptr) {
      poll_->Wake();
    } else if (!started.ok()) {
      std::move(call->done)(absl::UnavailableError(started.message()));
    } else {
      Cancel(std::move(call));
    }
  }

  uint64_t hedges() const { return hedges_.load(std::memory_order_relaxed); }

 private:
  // Runs on the thread that requests a stop, under any locks that it holds.
  struct Wake {
    Loop* loop;
    void operator()() const {
      loop->stops_.store(true);
      loop->poll_->Wake();
    }
  };

  struct Call {
    HttpRequest request;
    CallPriority priority = CallPriority::kNormal;
    std::stop_token stop;
    Done done;
    Nanos not_before = 0;
    // Set while in flight: the request, and the second one.
    Nanos begun = 0;
    std::array<std::unique_ptr<HttpTransfer>, 2> transfers;
    bool hedged = false;
    std::optional<std::stop_callback<Wake>> when_stopped;
  };

  // The first request starts the thread.
  absl::Status NeedThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (thread_.joinable()) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(thread_, StartThread("ps-http", [this] { Run(); }));
    return absl::OkStatus();
  }

  static void Cancel(std::unique_ptr<Call> call) { std::move(call->done)(absl::CancelledError("cancelled")); }

  void Run() {
    const NoSigpipe no_sigpipe;  // with CURLOPT_NOSIGNAL, libcurl leaves SIGPIPE to its caller
    for (bool closed = false; !closed;) {
      {
        MutexLock lock(&mutex_);
        closed = closed_;
        for (auto& call : arrived_) waiting_.push_back(std::move(call));
        arrived_.clear();
      }
      if (stops_.exchange(false)) CancelThoseStopped();
      const Nanos until_due = StartThoseDue();
      const Nanos sleep = std::min({until_due, HedgeThoseLate(), SayWhoIsSilent()});
      if (!closed) poll_->Wait(sleep);
      FinishThoseEnded();
    }
    for (auto& call : waiting_) Cancel(std::move(call));
    for (auto& call : std::exchange(under_way_, {})) BreakOff(std::move(call));
  }

  void CancelThoseStopped() {
    for (size_t i = 0; i < under_way_.size();) {
      if (!under_way_[i]->stop.stop_requested()) {
        ++i;
        continue;
      }
      std::unique_ptr<Call> call = std::move(under_way_[i]);
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
      BreakOff(std::move(call));
    }
  }

  void BreakOff(std::unique_ptr<Call> call) {
    for (auto& transfer : call->transfers) Close(&transfer);
    Cancel(std::move(call));
  }

  // Closes the connection if the transfer has not ended.
  void Close(std::unique_ptr<HttpTransfer>* transfer) {
    if (*transfer == nullptr) return;
    curl_multi_remove_handle(multi_, (*transfer)->easy);
    idle_.push_back((*transfer)->easy);
    transfer->reset();
    --transfers_;
  }

  // Returns how long no further request becomes due.
  Nanos StartThoseDue() {
    const Nanos now = clock_->Now();
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
        if (transfers_ >= most_under_way_) {
          waiting_.push_back(std::move(call));
          continue;
        }
        call->begun = now;
        Start(call.get(), 0);
        if (const HedgePolicy* hedges = HedgesOf(*call); hedges != nullptr) {
          const Nanos late = hedges->LateAfter(call->request.capacity);
          if (late != HedgePolicy::kNever) look_at_ = std::min(look_at_, now + late);
        }
        under_way_.push_back(std::move(call));
      }
    }
    return sleep;
  }

  void Start(Call* call, size_t number) {
    CURL* easy = nullptr;
    if (idle_.empty()) {
      easy = curl_easy_init();
    } else {
      easy = idle_.back();
      idle_.pop_back();
    }
    call->transfers[number] = std::make_unique<HttpTransfer>(&call->request, easy, call, clock_);
    curl_multi_add_handle(multi_, easy);
    ++transfers_;
  }

  // Returns the policy of the storage, or null if `call` is never sent twice.
  HedgePolicy* HedgesOf(const Call& call) {
    if (call.request.hedged_with.empty()) return nullptr;
    const auto found = policies_.find(call.request.hedged_with);
    if (found != policies_.end()) return &found->second;
    if (policies_.size() >= kMostHedged) return nullptr;
    return &policies_.try_emplace(call.request.hedged_with, hedge_options_).first->second;
  }

  // Returns how long no further request can become late, as far as is known.
  Nanos HedgeThoseLate() {
    const Nanos now = clock_->Now();
    if (now < look_at_) return std::min(kLongestSleep, look_at_ - now);
    look_at_ = now + kLongestSleep;
    std::vector<Call*> late;
    size_t late_in_all = 0, looked = 0;
    for (const auto& call : under_way_) {
      const HedgePolicy* const hedges = HedgesOf(*call);
      if (hedges == nullptr) continue;
      ++looked;
      const Nanos after = hedges->LateAfter(call->request.capacity);
      if (after == HedgePolicy::kNever) continue;
      if (now - call->begun < after) {
        look_at_ = std::min(look_at_, call->begun + after);
        continue;
      }
      ++late_in_all;
      if (!call->hedged) late.push_back(call.get());
    }
    for (Call* const call : late) {
      if (transfers_ < most_under_way_ &&
          HedgesOf(*call)->Ask(call->request.capacity, call->begun, looked, late_in_all)) {
        call->hedged = true;
        Start(call, 1);
        hedges_.fetch_add(1, std::memory_order_relaxed);
      } else {
        look_at_ = std::min(look_at_, now + kLookAgain);
      }
    }
    return look_at_ - now;
  }

  // Returns the time until the next check.
  Nanos SayWhoIsSilent() {
    if (under_way_.empty()) return kLongestSleep;
    const Nanos now = clock_->Now();
    if (now < listen_at_) return listen_at_ - now;
    listen_at_ = now + kListenAgain;
    for (const auto& call : under_way_) {
      if (call->request.when_silent == nullptr) continue;
      Nanos heard = 0;
      for (const auto& transfer : call->transfers) {
        if (transfer != nullptr) heard = std::max(heard, transfer->heard_at);
      }
      if (now - heard >= HttpClient::kSilentAfter) call->request.when_silent(now - heard);
    }
    return kListenAgain;
  }

  void FinishThoseEnded() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      HttpTransfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      Finish(transfer, message->data.result);
    }
  }

  void Finish(HttpTransfer* transfer, CURLcode code) {
    auto* const call = static_cast<Call*>(transfer->user);
    const size_t number = call->transfers[0].get() == transfer ? 0 : 1;
    transfer->response.status = transfer->Status();
    const bool answered = code == CURLE_OK || transfer->unwanted;
    const bool good = code == CURLE_OK && transfer->response.status < 300;
    // The other transfer may still succeed.
    if (!good && call->transfers[1 - number] != nullptr) return Close(&call->transfers[number]);
    absl::StatusOr<HttpResponse> response = absl::UnknownError("");
    if (answered) {
      response = std::move(transfer->response);
      if (!good) Hide(SecretsOf(call->request), &*response);
    } else {
      response = transfer->ErrorOf(code);
    }
    // After this, neither transfer writes to the caller's memory.
    for (auto& each : call->transfers) Close(&each);
    const auto own = std::find_if(under_way_.begin(), under_way_.end(),
                                  [call](const std::unique_ptr<Call>& each) { return each.get() == call; });
    const std::unique_ptr<Call> owned = std::move(*own);
    under_way_.erase(own);
    if (HedgePolicy* const hedges = HedgesOf(*call); hedges != nullptr && good) {
      hedges->Answered(call->request.capacity, call->begun, clock_->Now() - call->begun);
    }
    std::move(call->done)(std::move(response));
  }

  const size_t most_under_way_;
  const HedgePolicy::Options hedge_options_;
  Clock* const clock_;
  CURLM* multi_ = nullptr;
  std::optional<MultiPoll> poll_;
  std::atomic<bool> stops_{false};  // a stop was requested
  std::atomic<uint64_t> hedges_{0};
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::unique_ptr<Call>> arrived_ ABSL_GUARDED_BY(mutex_);
  // Used only by the thread.
  std::deque<std::unique_ptr<Call>> waiting_;
  std::vector<std::unique_ptr<Call>> under_way_;
  size_t transfers_ = 0;  // open transfers of these calls
  std::vector<CURL*> idle_;
  std::unordered_map<std::string, HedgePolicy> policies_;
  Nanos look_at_ = 0;    // time when a call in flight may become late
  Nanos listen_at_ = 0;  // time of the next check for silence
  std::thread thread_;   // started under the lock
};

HttpClient::HttpClient(int most_under_way, const HedgePolicy::Options& hedges, Clock* clock)
    : loop_(std::make_unique<Loop>(most_under_way, hedges, clock)) {}
HttpClient::~HttpClient() = default;

void HttpClient::Send(HttpRequest request, const CallOptions& options, Done done, Nanos delay) {
  loop_->Add(std::move(request), options, std::move(done), delay);
}

uint64_t HttpClient::hedges() const { return loop_->hedges(); }

}  // namespace penstock::storage
