// A loader's settings, found while it runs: one is moved at a time, and stays only if rows come faster by more than
// chance explains.
//
//   window of counters ─▶ a trial is under way? ─▶ judged: kept, or taken back and left alone for a while
//                                no ─▶ what holds rows back? ─▶ the move against it, as a trial
//
// Read threads go where Little's law puts them, latency times the rate that the CPUs could make, while threads wait for
// storage and a trainer for rows; requests to object storage likewise. Threads that make rows go where CPU is short
// because others use it, a trainer on the same host most of all: fewer of them, if more rows come for it, or, where
// trainers had enough of them before, if not fewer do.
#ifndef PENSTOCK_PIPELINE_TUNING_TUNING_CONTROLLER_H_
#define PENSTOCK_PIPELINE_TUNING_TUNING_CONTROLLER_H_

#include <optional>
#include <string>

#include "base/runtime/clock.h"
#include "pipeline/tuning/rates.h"
#include "pipeline/tuning/tuning_window.h"

namespace penstock {

// Not thread-safe. No clock of its own: a machine is simulated by giving it windows.
class TuningController {
 public:
  // Windows are best about so long.
  static constexpr Nanos kWindow = 500 * kMillisecond;

  TuningController(const TuningLimits& limits, const TuningSetting& first);

  // The window that has ended at `now`, with the setting that the last call gave; returns that of the next. Differs by
  // one knob at most.
  TuningSetting Step(const TuningWindow& window, Nanos now);

  const TuningSetting& setting() const { return setting_; }
  // What became of the last move, in words, once: "read threads 0 -> 48: 92 rows/s before, 981 now; reads take 20 ms".
  // Nothing of trials that are under way or that did not pay.
  std::optional<std::string> TakeNews();
  bool in_trial() const { return trial_.has_value(); }

 private:
  // What is tried and for which reason; each is left alone for longer the more often it did not pay.
  enum Move { kMoreReads, kFewerReads, kMoreRequests, kMoreThreads, kFewerThreads, kMoves };
  struct Trial {
    Move move = kMoreReads;
    TuningSetting from;
    std::string why;
    double others_used = 0;  // CPUs, before it
    bool fed = false;        // the trainers had enough before it
  };
  struct Shares;

  Shares SharesOf(const TuningWindow& window) const;
  void ForgetOthers();
  bool ProposeReads(const TuningWindow& window, const Shares& shares, Nanos now);
  bool ProposeThreads(const Shares& shares, Nanos now);
  bool ProposeRequests(const TuningWindow& window, Nanos now);
  // As many as Little's law says are under way when storage is not what rows wait for.
  int WantedReads(const TuningWindow& window) const;
  // More than `now`, towards these, in one step; `now`: they are as many as may be.
  int MoreReads(const TuningWindow& window, int now, int most) const;
  void Begin(Move move, const TuningSetting& to, std::string why);
  void Judge(Nanos now);
  void Keep(Nanos now);
  void TakeBack(Nanos now);
  bool MayTry(Move move, Nanos now) const { return now >= not_before_[move]; }
  void LeaveAlone(Move move, Nanos now);

  const TuningLimits limits_;
  TuningSetting setting_;
  Rates before_;            // with the setting as it is, or as it was before the trial
  Rates after_;             // of the trial
  Rates others_use_;        // CPUs that other processes use,
  Rates others_want_;       // and those that a thread less may give them: with the setting as it is
  Rates unasked_;           // part of the threads' time without anybody who wants rows
  double others_used_ = 0;  // when more threads were last left alone
  std::optional<Trial> trial_;
  int settling_ = 0;  // windows that still show what was before
  Nanos not_before_[kMoves] = {};
  Nanos pause_[kMoves] = {};
  std::optional<std::string> news_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_TUNING_TUNING_CONTROLLER_H_
