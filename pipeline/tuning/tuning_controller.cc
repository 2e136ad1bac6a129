#include "pipeline/tuning/tuning_controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock {
namespace {

// Windows of a mean: two seconds.
constexpr size_t kMeanWindows = 4;
// Rows that were begun before a change end behind it.
constexpr int kSettling = 1;
// A trial that is plainly better, or worse, is over sooner.
constexpr double kPlainlyBetter = 1.3, kPlainlyWorse = 0.8;
constexpr size_t kPlainWindows = 2;
// Until what did not pay is tried again: twice as long each time.
constexpr Nanos kFirstPause = 20 * kSecond, kLongestPause = 640 * kSecond;

// A read that takes longer than this is worth a thread of its own where it is much of the time; one that takes less
// than that is not (handing over takes 10 to 30 us of CPU).
constexpr double kFarRead = 300e-6, kNearRead = 100e-6;
// One that takes as long as this is storage's doing; a shorter one may have waited for a CPU.
constexpr double kPlainlyFarRead = 2e-3;
constexpr double kMuchOfTheTime = 0.1;
constexpr double kFewReads = 8, kManyReads = 50;
// Reads beyond what Little's law says, since they do not come evenly.
constexpr double kSpare = 1.5;
constexpr int kLeastReads = 4, kMostWanted = 1 << 16;
// Of the threads' time, without anybody who wants rows: the trainers have enough.
constexpr double kFed = 0.2;
constexpr double kIdleForStorage = 0.05;
// Of the time that threads had rows, without a CPU to run on.
constexpr double kShortOfCpu = 0.05;
// CPUs that others use, so that a thread less may give them more than it costs.
constexpr double kOthersUseCpus = 0.4;

}  // namespace

// Parts of the time of all threads, or of what is said.
struct TuningController::Shares {
  double unasked, storage, memory;
  double blocked;   // of the time on rows
  double cpu_less;  // of the time on rows in which they were not blocked
  double others;    // CPUs that other processes use, or keep from these threads
};

TuningController::TuningController(const TuningLimits& limits, const TuningSetting& first)
    : limits_(limits),
      setting_(first),
      before_(kMeanWindows),
      after_(kMeanWindows),
      others_use_(kMeanWindows),
      others_want_(kMeanWindows),
      unasked_(kMeanWindows) {}

std::optional<std::string> TuningController::TakeNews() { return std::exchange(news_, std::nullopt); }

TuningSetting TuningController::Step(const TuningWindow& window, Nanos now) {
  if (window.seconds <= 0) return setting_;
  if (window.rows <= 0 && window.busy_seconds < 0.1 * window.seconds) {
    // Nobody reads: nothing can be told from this, nor compared with what was before it.
    if (trial_.has_value()) setting_ = std::exchange(trial_, std::nullopt)->from;
    before_.Clear();
    ForgetOthers();
    settling_ = kSettling;
    return setting_;
  }
  const double rate = window.rows / window.seconds;
  if (settling_ > 0) {
    --settling_;
    // A thread less is felt at once: where it was missed, no more rows are lost to the trial.
    const bool missed = trial_.has_value() && trial_->move == kFewerThreads;
    if (missed && rate < kPlainlyWorse * before_.typical()) TakeBack(now);
    return setting_;
  }
  const Shares shares = SharesOf(window);
  others_use_.Add(window.other_seconds / window.seconds);
  others_want_.Add(shares.others);
  unasked_.Add(shares.unasked);
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
  shares.unasked = window.unasked_seconds / all;
  shares.storage = window.storage_seconds / all;
  shares.memory = window.memory_seconds / all;
  shares.blocked = window.busy_seconds > 0 ? window.blocked_seconds / window.busy_seconds : 0;
  shares.cpu_less = ready > 0.1 * window.seconds ? std::max(0.0, 1 - window.cpu_seconds / ready) : 0;
  // Threads that wake for a row go before those that always compute: it is these that may lack a CPU, and not show
  // here.
  const double other = window.other_seconds / window.seconds;
  const bool crowded = setting_.threads + other > limits_.host_cpus;
  shares.others = std::max(shares.cpu_less > kShortOfCpu ? shares.cpu_less * setting_.threads : 0, crowded ? other : 0);
  return shares;
}

void TuningController::ForgetOthers() {
  others_use_.Clear();
  others_want_.Clear();
  unasked_.Clear();
}

int TuningController::WantedReads(const TuningWindow& window) const {
  const double ready = window.busy_seconds - window.blocked_seconds;
  const double latency = window.read_seconds / window.reads;
  const double reads_a_row = window.rows > 0 ? window.reads / window.rows : 1;
  // Where nothing was computed yet, a row is thought to take a millisecond.
  const double row = window.rows > 0 ? std::max(ready / window.rows, 1e-6) : 1e-3;
  const double under_way = latency * reads_a_row * setting_.threads / row;
  return static_cast<int>(
      std::clamp(std::ceil(kSpare * under_way), static_cast<double>(kLeastReads), static_cast<double>(kMostWanted)));
}

int TuningController::MoreReads(const TuningWindow& window, int now, int most) const {
  return std::max(now, std::min(std::clamp(WantedReads(window), now + now / 2 + 1, 4 * now), most));
}

bool TuningController::ProposeReads(const TuningWindow& window, const Shares& shares, Nanos now) {
  if (limits_.read_threads_pinned || window.reads <= 0) return false;
  const double latency = window.read_seconds / window.reads;
  const bool waiting = shares.unasked < kFed;
  TuningSetting to = setting_;
  if (setting_.read_threads == 0) {
    // Rows wait aside although no thread only reads: for storage that takes requests.
    const bool aside = shares.storage > kIdleForStorage && shares.blocked < kMuchOfTheTime;
    if (aside && waiting && latency >= kFarRead) return ProposeRequests(window, now);
    const bool seen = window.reads >= kFewReads || window.blocked_seconds > 0.5 * window.busy_seconds;
    const bool sure = latency >= kPlainlyFarRead || before_.size() == kMeanWindows;
    if (!waiting || !seen || !sure || latency < kFarRead || shares.blocked < kMuchOfTheTime) return false;
    if (!MayTry(kMoreReads, now)) return false;
    to.read_threads = std::min(WantedReads(window), limits_.most_read_threads);
  } else if (waiting && shares.storage > kIdleForStorage) {
    if (before_.size() < kMeanWindows || !MayTry(kMoreReads, now)) return false;
    to.read_threads = MoreReads(window, setting_.read_threads, limits_.most_read_threads);
    if (to == setting_) return false;
  } else if (latency < kNearRead && window.reads >= kManyReads && shares.storage < kIdleForStorage / 2 &&
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
  // What did not pay while others used the CPUs may pay once they do not.
  const bool left_to_us = others_use_.size() == kMeanWindows && others_used_ - others_use_.typical() > kOthersUseCpus;
  if (setting_.threads < limits_.most_threads && shares.unasked < kFed && !held_elsewhere &&
      (left_to_us || MayTry(kMoreThreads, now))) {
    if (left_to_us) pause_[kMoreThreads] = 0;
    to.threads = std::min(setting_.threads + std::max(1, setting_.threads / 4), limits_.most_threads);
    Begin(kMoreThreads, to, "trainers wait for rows");
    return true;
  }
  // As many fewer as others want, step by step, but not fewer than they leave. A process that starts, or ends, uses CPU
  // in one window.
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
  trial_ = Trial{move, setting_, std::move(why), others_use_.typical(), unasked_.typical() > kFed};
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
  // Threads that are given back need not pay more: they must not cost anything. Where the trainers had enough, what
  // comes scatters as they ask, by more than a CPU for them may give.
  const double bar = after_.BarAgainst(before_);
  const double least = trial_->move == kFewerReads                    ? before / bar
                       : trial_->move == kFewerThreads && trial_->fed ? before
                                                                      : before * bar;
  if (after >= least) return Keep(now);
  TakeBack(now);
}

void TuningController::Keep(Nanos now) {
  const Move move = trial_->move;
  // The larger one: where others went during the trial, more rows came for that.
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
  // The way back was not worth it a moment ago.
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
  pause_[move] = std::clamp(2 * pause_[move], kFirstPause, kLongestPause);
  not_before_[move] = now + pause_[move];
}

}  // namespace penstock
