// Which epochs of a job rows are asked of, and how many: what says whether its data are read again. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_EPOCHS_SEEN_H_
#define PENSTOCK_PIPELINE_LOADER_EPOCHS_SEEN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock {

// Of the last few epochs: readers need not be in the same one.
class EpochsSeen {
 public:
  // `part`: of a row, where several readers get it.
  void AddRow(uint64_t epoch, uint64_t position, double part) {
    Seen* oldest = &seen_.front();
    for (Seen& seen : seen_) {
      if (seen.rows > 0 && seen.epoch == epoch) {
        seen.rows += part;
        seen.furthest = std::max(seen.furthest, position);
        seen.at = ++time_;
        return;
      }
      if (seen.at < oldest->at) oldest = &seen;
    }
    *oldest = {epoch, part, position, ++time_};
    ++epochs_;
  }

  // The most of one epoch.
  double rows() const {
    double most = 0;
    for (const Seen& seen : seen_) most = std::max(most, seen.rows);
    return most;
  }
  // What one epoch asks for, of so many there are: the most that one did, or, of the first one, as far as it has come,
  // what it will be if it goes on like that. 0: that cannot be told yet.
  double rows_of_epoch(double positions) const {
    if (epochs_ != 1) return rows();
    const Seen& first =
        *std::max_element(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.rows < b.rows; });
    const double gone = static_cast<double>(first.furthest) + 1;
    if (gone >= positions) return first.rows;
    if (first.rows < kEnoughRows || gone < kEnoughOfEpoch * positions) return 0;
    return std::min(positions, first.rows * positions / gone);
  }
  // Whether any row was asked for, and of which epoch the last was; 0 before.
  bool any() const { return epochs_ > 0; }
  uint64_t latest() const {
    return std::max_element(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.at < b.at; })
        ->epoch;
  }
  // Whether rows came of a second one, or more of one than there are.
  bool again(double rows_of_epoch) const { return epochs_ > 1 || rows() > 1.05 * rows_of_epoch + 1; }

 private:
  static constexpr double kEnoughRows = 256, kEnoughOfEpoch = 0.02;
  struct Seen {
    uint64_t epoch = 0;
    double rows = 0;
    uint64_t furthest = 0;  // position
    uint64_t at = 0;
  };
  std::array<Seen, 4> seen_;
  uint64_t time_ = 0, epochs_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_EPOCHS_SEEN_H_
