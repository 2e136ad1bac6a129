// Counts the rows that were made in each epoch of a job, to decide whether its data is read again. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_EPOCHS_SEEN_H_
#define PENSTOCK_PIPELINE_LOADER_EPOCHS_SEEN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::loader {

// Keeps the counts of the last few epochs, because readers may be in different ones.
class EpochsSeen {
 public:
  // Adds a row. `part` is below 1 if several readers get the same row.
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

  // Returns the row count of the epoch with the most rows.
  double rows() const {
    double most = 0;
    for (const Seen& seen : seen_) most = std::max(most, seen.rows);
    return most;
  }
  // Returns the number of rows that the job reads in an epoch of `positions`: the largest count of an epoch. During the
  // first epoch, extrapolates from the part that has passed, or returns 0 if that part is too small.
  double rows_of_epoch(double positions) const {
    if (epochs_ != 1) return rows();
    const Seen& first =
        *std::max_element(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.rows < b.rows; });
    const double gone = static_cast<double>(first.furthest) + 1;
    if (gone >= positions) return first.rows;
    if (first.rows < kEnoughRows || gone < kEnoughOfEpoch * positions) return 0;
    return std::min(positions, first.rows * positions / gone);
  }
  // Returns whether any row was added.
  bool any() const { return epochs_ > 0; }
  // Returns the epoch of the last row, or 0 if there is none.
  uint64_t latest() const {
    return std::max_element(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.at < b.at; })
        ->epoch;
  }
  // Returns whether rows of a second epoch were added, or more rows than one epoch has.
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

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_EPOCHS_SEEN_H_
