// Tunes a loader's settings while it runs. It changes one setting at a time and keeps the change only if the row rate
// rises by more than chance explains. Two changes need not raise the rate: fewer read threads, and fewer threads while
// the trainers have enough rows.
//
//   window of counters ─▶ trial in progress? ─▶ judge it: keep it, or revert it and pause that move
//                                no ─▶ what limits the row rate? ─▶ try the move against that
//
// While threads wait for storage and a trainer waits for rows, the number of read threads follows Little's law: latency
// times the rate that the CPUs could reach. The number of requests to object storage follows the same rule. The number
// of threads that make rows falls if other processes use the CPUs, such as a trainer on the same host.
#ifndef PENSTOCK_PIPELINE_TUNING_TUNING_CONTROLLER_H_
#define PENSTOCK_PIPELINE_TUNING_TUNING_CONTROLLER_H_

#include <optional>
#include <string>

#include "base/runtime/clock.h"
#include "pipeline/tuning/rates.h"
#include "pipeline/tuning/tuning_window.h"

namespace penstock::tuning {

// Not thread-safe. Uses no clock of its own: tests simulate a machine by passing windows.
class TuningController {
 public:
  // The recommended length of a window.
  static constexpr Nanos kWindow = 500 * kMillisecond;

  TuningController(const TuningLimits& limits, const TuningSetting& first);

  // Takes the window that ended at `now` and ran with the last returned setting. Returns the setting of the next
  // window, which differs in at most one value.
  TuningSetting Step(const TuningWindow& window, Nanos now);

  const TuningSetting& setting() const { return setting_; }
  // Returns the result of the last kept move as text, once: "read threads 0 -> 48: 92 rows/s before, 981 now; reads
  // take 20 ms". Trials in progress and reverted trials are not reported.
  std::optional<std::string> TakeNews();
  bool in_trial() const { return trial_.has_value(); }

 private:
  // The moves. A reverted move is paused, and so is the reverse of a kept kMoreReads, kMoreThreads or kFewerThreads.
  // The pause of a move doubles each time.
  enum Move { kMoreReads, kFewerReads, kMoreRequests, kMoreThreads, kFewerThreads, kMoves };
  struct Trial {
    Move move = kMoreReads;
    TuningSetting from;
    std::string why;
    double others_used = 0;  // CPUs that other processes used before the trial
    bool fed = false;        // whether the trainers had enough rows before the trial
  };
  struct Shares;

  Shares SharesOf(const TuningWindow& window) const;
  void ForgetOthers();
  bool ProposeReads(const TuningWindow& window, const Shares& shares, Nanos now);
  bool ProposeThreads(const Shares& shares, Nanos now);
  bool ProposeRequests(const TuningWindow& window, Nanos now);
  // Returns the number of concurrent reads by Little's law for a loader that storage does not limit.
  int WantedReads(const TuningWindow& window) const;
  // Returns WantedReads(), but at least 1.5 and at most 4 times `now`, and at most `most`. Never returns less than
  // `now`.
  int MoreReads(const TuningWindow& window, int now, int most) const;
  void Begin(Move move, const TuningSetting& to, std::string why);
  void Judge(Nanos now);
  void Keep(Nanos now);
  void TakeBack(Nanos now);
  bool MayTry(Move move, Nanos now) const { return now >= not_before_[move]; }
  void LeaveAlone(Move move, Nanos now);

  const TuningLimits limits_;
  TuningSetting setting_;
  Rates before_;            // with the current setting, or with that before the trial
  Rates after_;             // during the trial
  Rates others_use_;        // CPUs that other processes use, with the current setting
  Rates others_want_;       // CPUs that they would gain from fewer threads, with the current setting
  Rates unrequested_;       // fraction of the threads' time without a request for rows
  double others_used_ = 0;  // CPUs used by others when more threads were last paused
  std::optional<Trial> trial_;
  int settling_ = 0;  // windows that still include rows from before the change
  Nanos not_before_[kMoves] = {};
  Nanos pause_[kMoves] = {};
  std::optional<std::string> news_;
};

}  // namespace penstock::tuning

#endif  // PENSTOCK_PIPELINE_TUNING_TUNING_CONTROLLER_H_
