// Mixes the rows of a batch group by group, as the rows arrive.
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

namespace penstock::client {

// A job's mix, for all its batches.
struct BatchMix {
  batch::MixPlan plan;
  uint64_t seed = 0;  // seed of the order
};

// The position of a batch's first row.
struct BatchPlace {
  uint64_t epoch = 0;
  uint64_t first_row = 0;  // number in the epoch of row 0; with a mix, a multiple of the group size
};

// Rows are numbered within the batch. Group k has the rows [k * group, (k + 1) * group). The last rows of a batch that
// do not form a whole group stay unmixed, and so does a group with an invalid row. Thread-safe.
class GroupMixer {
 public:
  // The memory of the batch's rows, in row order. `numbers` holds integer labels as received. It is null if the
  // received labels are soft.
  struct Memory {
    std::byte* images = nullptr;
    std::byte* labels = nullptr;
    const std::byte* numbers = nullptr;
  };

  // `mix` must outlive the mixer.
  GroupMixer(const BatchMix& mix, const BatchPlace& place, size_t rows, const Memory& memory);

  // Records that the row's content is written. Must be called once for each row, by the thread that wrote it. Converts
  // an integer label to a soft one: zeros for a masked row. The call for the last row of a group mixes the group.
  void RowDone(size_t row, bool valid, bool masked);

  // Returns InvalidArgument that names the first row whose integer label is not in [0, classes). Ignores masked rows.
  // Meaningful only after RowDone for all rows.
  absl::Status CheckLabels(std::span<const RowId> ids, const std::string& column) const;

 private:
  void Mix(size_t group);

  const BatchMix& mix_;
  const BatchPlace place_;
  const size_t rows_;
  const Memory memory_;
  const size_t image_bytes_, label_bytes_, number_bytes_;
  std::unique_ptr<std::atomic<uint32_t>[]> missing_;  // unfinished rows of each whole group
  std::vector<uint8_t> valid_, masked_;               // written by the row's writer, read by the group's last one
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_ASSEMBLY_GROUP_MIXER_H_
