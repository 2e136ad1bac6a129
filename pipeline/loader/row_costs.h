// Times of one job's rows, by the cache entries that they used, and the time that cache hits save. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_COSTS_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_COSTS_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::loader {

// Source of a row.
enum class RowFrom {
  kRecord,
  kFilled,   // its record; the whole image was decoded for the cache of decoded images
  kDecoded,  // a decoded image
  kKept,     // a finished row
};

struct RowCost {
  RowFrom from = RowFrom::kRecord;
  Nanos compute = 0;           // time of the thread, without reading
  Nanos read = 0;              // to read its record, on any thread; 0: not read
  bool cached_record = false;  // the record was in the record cache
  Nanos from_decoded = 0;      // for kFilled, the part of `compute` from the decoded image to the row
  uint64_t record_bytes = 0, decoded_bytes = 0, row_bytes = 0;  // 0: unknown
};

// Running mean: of all values while there are at most `late`, then of about the last `late` values.
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
  // Seconds that each cache has saved for this row. `record` is the mean time of a read. The others are negative if a
  // hit took longer than the mean without the cache. 0 while the alternative was never measured.
  struct Saved {
    double record = 0, decoded = 0, row = 0;
  };
  Saved Add(const RowCost& row);

  // Seconds and bytes of a row. No measurement if count() is 0.
  const MeanOfLate& read() const { return read_; }                  // for a record that was not cached in memory
  const MeanOfLate& from_record() const { return from_record_; }    // only computing
  const MeanOfLate& filled() const { return filled_; }              // including the decode of the whole image
  const MeanOfLate& from_decoded() const { return from_decoded_; }  // from the decoded image to the row
  const MeanOfLate& kept() const { return kept_; }
  const MeanOfLate& record_bytes() const { return record_bytes_; }
  const MeanOfLate& decoded_bytes() const { return decoded_bytes_; }
  const MeanOfLate& row_bytes() const { return row_bytes_; }

 private:
  MeanOfLate read_, from_record_, filled_, from_decoded_, kept_, whole_;  // whole_: reading and computing a row
  // Sizes depend only on the data, so more samples are better.
  static constexpr uint64_t kMany = 1 << 14;
  MeanOfLate record_bytes_{kMany}, decoded_bytes_{kMany}, row_bytes_{kMany};
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_COSTS_H_
