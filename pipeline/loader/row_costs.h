// What rows of one job took, by what caches had of them; and so what a cache's hits save. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_COSTS_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_COSTS_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock {

// What a row was made of.
enum class RowFrom {
  kRecord,
  kFilled,   // its record, of which the cache of decoded images was given the whole image on the way
  kDecoded,  // a decoded image
  kKept,     // a finished row
};

struct RowCost {
  RowFrom from = RowFrom::kRecord;
  Nanos compute = 0;           // of the thread, without reading
  Nanos read = 0;              // of its record, on whatever thread; 0: none was read
  bool cached_record = false;  // the record cache had it
  Nanos from_decoded = 0;      // of kFilled: of `compute`, from the decoded image to the row
  uint64_t record_bytes = 0, decoded_bytes = 0, row_bytes = 0;  // 0: not seen
};

// Follows what is measured: the mean of all that came while there are few, of about so many of the last ones then.
class MeanOfLate {
 public:
  explicit MeanOfLate(uint64_t late = 128) : late_(late) {}
  void Add(double value) {
    ++count_;
    mean_ += (value - mean_) / static_cast<double>(count_ < late_ ? count_ : late_);
  }
  double mean() const { return mean_; }
  uint64_t count() const { return count_; }

 private:
  uint64_t late_;
  double mean_ = 0;
  uint64_t count_ = 0;
};

// Not thread-safe.
class RowCosts {
 public:
  // What each cache has saved of this row, in seconds; below 0 where a hit took longer than the mean of what it stands
  // for. Nothing while the alternative was never measured.
  struct Saved {
    double record = 0, decoded = 0, row = 0;
  };
  Saved Add(const RowCost& row);

  // Seconds and bytes of a row; nothing was measured yet where count() is 0.
  const MeanOfLate& read() const { return read_; }                  // of a record that memory had not
  const MeanOfLate& from_record() const { return from_record_; }    // computing alone
  const MeanOfLate& filled() const { return filled_; }              // with the decoding of the whole image
  const MeanOfLate& from_decoded() const { return from_decoded_; }  // on from the decoded image
  const MeanOfLate& kept() const { return kept_; }
  const MeanOfLate& record_bytes() const { return record_bytes_; }
  const MeanOfLate& decoded_bytes() const { return decoded_bytes_; }
  const MeanOfLate& row_bytes() const { return row_bytes_; }

 private:
  MeanOfLate read_, from_record_, filled_, from_decoded_, kept_, whole_;  // whole: of rows that were made, with reading
  // Sizes are as the data are: the more were seen, the better.
  static constexpr uint64_t kMany = 1 << 14;
  MeanOfLate record_bytes_{kMany}, decoded_bytes_{kMany}, row_bytes_{kMany};
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_COSTS_H_
