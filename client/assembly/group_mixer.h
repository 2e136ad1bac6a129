// Mixing of one batch's rows, group by group, as its rows come.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_GROUP_MIXER_H_
#define PENSTOCK_CLIENT_ASSEMBLY_GROUP_MIXER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "penstock/batch.h"
#include "pipeline/batch/mix_plan.h"

namespace penstock {

// A job's mix, for all its batches.
struct BatchMix {
  MixPlan plan;
  uint64_t seed = 0;  // of the order
};

// Where a batch begins.
struct BatchPlace {
  uint64_t epoch = 0;
  uint64_t first_row = 0;  // the epoch's number of its row 0; with a mix, a multiple of the group
};

// Rows are numbered in the batch. A group's rows are [k * group, (k + 1) * group): the last rows of a batch that make
// no whole group stay unmixed, and so does a group with a row that is not valid. Thread-safe.
class GroupMixer {
 public:
  // Where the batch's rows lie, row after row. `numbers`: integer labels as they came; null where labels come soft.
  struct Memory {
    std::byte* images = nullptr;
    std::byte* labels = nullptr;
    const std::byte* numbers = nullptr;
  };

  // `mix` outlives the mixer.
  GroupMixer(const BatchMix& mix, const BatchPlace& place, size_t rows, const Memory& memory);

  // The row's content is there: once for each row, by whoever wrote it. Makes its label soft; the caller that brings
  // the last row of a group mixes the group before it returns. A masked row's label is zeros.
  void RowDone(size_t row, bool valid, bool masked);

  // After RowDone of all rows: InvalidArgument names the first row whose label is not in [0, classes).
  absl::Status CheckLabels(std::span<const RowId> ids, const std::string& column) const;

 private:
  void Mix(size_t group);

  const BatchMix& mix_;
  const BatchPlace place_;
  const size_t rows_;
  const Memory memory_;
  const size_t image_bytes_, label_bytes_, number_bytes_;
  std::unique_ptr<std::atomic<uint32_t>[]> missing_;  // rows of each whole group that are not done
  std::vector<uint8_t> valid_, masked_;               // each written by the row's writer, read by the group's last one
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_ASSEMBLY_GROUP_MIXER_H_
