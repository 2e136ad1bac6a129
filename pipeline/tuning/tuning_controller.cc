#include "pipeline/tuning/tuning_controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::tuning {
namespace {

// Windows per mean: two seconds.
constexpr size_t kMeanWindows = 4;
// Windows to skip after a change, because rows begun before it end after it.
constexpr int kSettling = 1;
// A trial that is clearly better or worse ends early.
constexpr double kPlainlyBetter = 1.3, kPlainlyWorse = 0.8;
constexpr size_t kPlainWindows = 2;
// Pauses after a reverted move. The pause doubles each time.
constexpr Nanos kFirstMovePause = 20 * kSecond, kLongestMovePause = 640 * kSecond;

// A read that takes longer than kRemoteRead justifies its own thread if reads take much of the time. A read that takes
// less than kLocalRead does not: the handover takes 10 to 30 us of CPU.
constexpr double kRemoteRead = 300e-6, kLocalRead = 100e-6;
// A read of at least this time is limited by storage. A shorter one may have waited for a CPU.
constexpr double kPlainlyRemoteRead = 2e-3;
constexpr double kMuchOfTheTime = 0.1;
constexpr double kFewReads = 8, kManyReads = 50;
// Factor on the result of Little's law, because reads do not arrive evenly.
constexpr double kSpareReads = 1.5;
constexpr int kLeastReads = 4, kMostWanted = 1 << 16;
// Above this fraction of thread time without a request for rows, the trainers have enough.
constexpr double kEnoughRequests = 0.2;
constexpr double kIdleForStorage = 0.05;
// Fraction of the threads' row time without a CPU to run on.
constexpr double kShortOfCpu = 0.05;
// CPUs used by others above which a thread less may give them more than it costs.
constexpr double kOthersUseCpus = 0.4;

}  // namespace

// Fractions of the time of all threads, unless noted otherwise.
struct TuningController::Shares {
  double unrequested, storage, memory;
  double blocked;   // fraction of the time on rows
  double cpu_less;  // fraction of the unblocked time on rows
  double others;    // CPUs that other processes use, or keep from these threads
};

TuningController::TuningController(const TuningLimits& limits, const TuningSetting& first)
    : limits_(limits),
      setting_(first),
      before_(kMeanWindows),
      after_(kMeanWindows),
      others_use_(kMeanWindows),
      others_want_(kMeanWindows),
      unrequested_(kMeanWindows) {}

std::optional<std::string> TuningController::TakeNews() { return std::exchange(news_, std::nullopt); }

TuningSetting TuningController::Step(const TuningWindow& window, Nanos now) {
  if (window.seconds <= 0) return setting_;
  if (window.rows <= 0 && window.busy_seconds < 0.1 * window.seconds) {
    // No trainer reads, so this window gives no information and later windows are not comparable with earlier ones.
    if (trial_.has_value()) setting_ = std::exchange(trial_, std::nullopt)->from;
    before_.Clear();
    ForgetOthers();
    settling_ = kSettling;
    return setting_;
  }
  const double rate = window.rows / window.seconds;
  if (settling_ > 0) {
    --settling_;
    // One thread less has an immediate effect. If it hurts, the trial ends now, so that no further rows are lost.
    const bool missed = trial_.has_value() && trial_->move == kFewerThreads;
    if (missed && rate < kPlainlyWorse * before_.typical()) TakeBack(now);
    return setting_;
  }
  const Shares shares = SharesOf(window);
  others_use_.Add(window.other_seconds / window.seconds);
  others_want_.Add(shares.others);
  unrequested_.Add(shares.unrequested);
  if (trial_.has_value()) {
    after_.Add(rate);
    Judge(now);
  } else {
    before_.Add(rate);
    if (!ProposeReads(window, shares, now) && before_.size() == kMeanWindows) ProposeThreads(shares, now);
  }
  return setting_;
}

TuningController::Shares TuningController::SharesOf(const TuningWindow& window) const {
  const double all = setting_.threads * window.seconds;
  const double ready = window.busy_seconds - window.blocked_seconds;
  Shares shares;
  shares.unrequested = window.unrequested_seconds / all;
  shares.storage = window.storage_seconds / all;
  shares.memory = window.memory_seconds / all;
  shares.blocked = window.busy_seconds > 0 ? window.blocked_seconds / window.busy_seconds : 0;
  shares.cpu_less = ready > 0.1 * window.seconds ? std::max(0.0, 1 - window.cpu_seconds / ready) : 0;
  // The scheduler prefers threads that wake for a row over processes that always compute. So the others may lack a CPU
  // without a sign in cpu_less.
  const double other = window.other_seconds / window.seconds;
  const bool crowded = setting_.threads + other > limits_.host_cpus;
  shares.others = std::max(shares.cpu_less > kShortOfCpu ? shares.cpu_less * setting_.threads : 0, crowded ? other : 0);
  return shares;
}

void TuningController::ForgetOthers() {
  others_use_.Clear();
  others_want_.Clear();
  unrequested_.Clear();
}

int TuningController::WantedReads(const TuningWindow& window) const {
  const double ready = window.busy_seconds - window.blocked_seconds;
  const double latency = window.read_seconds / window.reads;
  const double reads_a_row = window.rows > 0 ? window.reads / window.rows : 1;
  // Before any row was computed, assumes a millisecond per row.
  const double row = window.rows > 0 ? std::max(ready / window.rows, 1e-6) : 1e-3;
  const double under_way = latency * reads_a_row * setting_.threads / row;
  return static_cast<int>(std::clamp(std::ceil(kSpareReads * under_way), static_cast<double>(kLeastReads),
                                     static_cast<double>(kMostWanted)));
}

int TuningController::MoreReads(const TuningWindow& window, int now, int most) const {
  return std::max(now, std::min(std::clamp(WantedReads(window), now + now / 2 + 1, 4 * now), most));
}

bool TuningController::ProposeReads(const TuningWindow& window, const Shares& shares, Nanos now) {
  if (limits_.read_threads_pinned || window.reads <= 0) return false;
  const double latency = window.read_seconds / window.reads;
  const bool waiting = shares.unrequested < kEnoughRequests;
  TuningSetting to = setting_;
  if (setting_.read_threads == 0) {
    // Rows wait for storage although no read threads exist: the storage accepts asynchronous requests.
    const bool parked = shares.storage > kIdleForStorage && shares.blocked < kMuchOfTheTime;
    if (parked && waiting && latency >= kRemoteRead) return ProposeRequests(window, now);
    const bool seen = window.reads >= kFewReads || window.blocked_seconds > 0.5 * window.busy_seconds;
    const bool sure = latency >= kPlainlyRemoteRead || before_.size() == kMeanWindows;
    if (!waiting || !seen || !sure || latency < kRemoteRead || shares.blocked < kMuchOfTheTime) return false;
    if (!MayTry(kMoreReads, now)) return false;
    to.read_threads = std::min(WantedReads(window), limits_.most_read_threads);
  } else if (waiting && shares.storage > kIdleForStorage) {
    if (before_.size() < kMeanWindows || !MayTry(kMoreReads, now)) return false;
    to.read_threads = MoreReads(window, setting_.read_threads, limits_.most_read_threads);
    if (to == setting_) return false;
  } else if (latency < kLocalRead && window.reads >= kManyReads && shares.storage < kIdleForStorage / 2 &&
             before_.size() == kMeanWindows && MayTry(kFewerReads, now)) {
    to.read_threads = 0;
    Begin(kFewerReads, to, absl::StrFormat("reads take %.2f ms", latency * 1e3));
    return true;
  } else {
    return false;
  }
  Begin(kMoreReads, to, absl::StrFormat("reads take %.3g ms", latency * 1e3));
  return true;
}

bool TuningController::ProposeRequests(const TuningWindow& window, Nanos now) {
  if (before_.size() < kMeanWindows || !MayTry(kMoreRequests, now)) return false;
  TuningSetting to = setting_;
  to.requests = MoreReads(window, setting_.requests, limits_.most_requests);
  if (to == setting_) return false;
  Begin(kMoreRequests, to, absl::StrFormat("reads take %.3g ms", window.read_seconds / window.reads * 1e3));
  return true;
}

bool TuningController::ProposeThreads(const Shares& shares, Nanos now) {
  if (limits_.threads_pinned) return false;
  TuningSetting to = setting_;
  const bool held_elsewhere = shares.storage > kMuchOfTheTime || shares.memory > kMuchOfTheTime;
  // A move that failed while others used the CPUs may succeed once they do not.
  const bool left_to_us = others_use_.size() == kMeanWindows && others_used_ - others_use_.typical() > kOthersUseCpus;
  if (setting_.threads < limits_.most_threads && shares.unrequested < kEnoughRequests && !held_elsewhere &&
      (left_to_us || MayTry(kMoreThreads, now))) {
    if (left_to_us) pause_[kMoreThreads] = 0;
    to.threads = std::min(setting_.threads + std::max(1, setting_.threads / 4), limits_.most_threads);
    Begin(kMoreThreads, to, "trainers wait for rows");
    return true;
  }
  // Removes as many threads as others want CPUs, step by step, but keeps a thread per CPU that they leave. Requires a
  // full mean, because a process that starts or ends uses CPU in a single window.
  if (others_want_.size() < kMeanWindows) return false;
  const double wanted = others_want_.typical();
  const int others = static_cast<int>(std::lround(wanted));
  const int left = std::max({1, limits_.most_threads - std::max(1, others), setting_.threads / 2});
  if (setting_.threads > left && wanted > kOthersUseCpus && MayTry(kFewerThreads, now)) {
    to.threads = std::max(left, setting_.threads - std::max(1, others));
    Begin(kFewerThreads, to, absl::StrFormat("others want %.1f CPUs", wanted));
    return true;
  }
  return false;
}

void TuningController::Begin(Move move, const TuningSetting& to, std::string why) {
  trial_ = Trial{move, setting_, std::move(why), others_use_.typical(), unrequested_.typical() > kEnoughRequests};
  setting_ = to;
  after_.Clear();
  ForgetOthers();
  settling_ = kSettling;
}

void TuningController::Judge(Nanos now) {
  const double before = before_.typical(), after = after_.typical();
  if (after < kPlainlyWorse * before) return TakeBack(now);
  if (after_.size() >= kPlainWindows && after > kPlainlyBetter * before) return Keep(now);
  if (after_.size() < kMeanWindows) return;
  // Removing threads need not raise the rate; it must only not lower it. If the trainers had enough rows, the rate
  // varies with their requests, by more than the gain from a CPU for them.
  const double bar = after_.BarAgainst(before_);
  const double least = trial_->move == kFewerReads                    ? before / bar
                       : trial_->move == kFewerThreads && trial_->fed ? before
                                                                      : before * bar;
  if (after >= least) return Keep(now);
  TakeBack(now);
}

void TuningController::Keep(Nanos now) {
  const Move move = trial_->move;
  // Takes the larger value: if other processes left during the trial, more rows arrived for that reason.
  if (move == kFewerThreads) others_used_ = std::max(trial_->others_used, others_use_.typical());
  int TuningSetting::*const moved = move == kMoreRequests                       ? &TuningSetting::requests
                                    : move == kMoreReads || move == kFewerReads ? &TuningSetting::read_threads
                                                                                : &TuningSetting::threads;
  static constexpr const char* kNames[kMoves] = {"read threads", "read threads", "requests at once", "threads",
                                                 "threads"};
  news_ = absl::StrFormat("%s %d -> %d: %.0f rows/s before, %.0f now; %s", kNames[move], trial_->from.*moved,
                          setting_.*moved, before_.typical(), after_.typical(), trial_->why);
  trial_.reset();
  before_ = after_;
  pause_[move] = 0;
  // The trial has just measured the reverse move as worse.
  static constexpr Move kBack[kMoves] = {kFewerReads, kMoreReads, kMoreRequests, kFewerThreads, kMoreThreads};
  if (move != kFewerReads && move != kMoreRequests) LeaveAlone(kBack[move], now);
}

void TuningController::TakeBack(Nanos now) {
  setting_ = trial_->from;
  const Move move = trial_->move;
  if (move == kMoreThreads) others_used_ = others_use_.typical();
  trial_.reset();
  ForgetOthers();
  settling_ = kSettling;
  LeaveAlone(move, now);
}

void TuningController::LeaveAlone(Move move, Nanos now) {
  pause_[move] = std::clamp(2 * pause_[move], kFirstMovePause, kLongestMovePause);
  not_before_[move] = now + pause_[move];
}

}  // namespace penstock::tuning
