// Builds one batch: writes rows into their slots as they arrive. FIXED columns are copied once, from the received
// slices into the batch. RAGGED columns are collected by row, and joined when the batch is complete.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_BATCH_BUILDER_H_
#define PENSTOCK_CLIENT_ASSEMBLY_BATCH_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/assembly/batch_memory.h"
#include "client/assembly/group_mixer.h"
#include "penstock/batch.h"
#include "pipeline/batch/row.h"
#include "transport/slice.h"

namespace penstock {

// The common properties of a reader's batches.
struct BatchFormat {
  batch::RowSchema schema;        // schema of the received rows
  std::vector<ColumnInfo> infos;  // the same columns after mixing, as the trainer sees them
  size_t fixed_bytes = 0;         // schema.FixedBytes()
  size_t memory_bytes = 0;        // bytes per row: FIXED columns after mixing, and integer labels before mixing
  bool ragged = false;            // true if any column is RAGGED
  std::optional<client::BatchMix> mix;
  std::vector<std::string> sets;  // names of the job's data sets; empty if they have none

  // Creates a format. Returns InvalidArgument, with the column's name, if a type, a shape or the size of a row is
  // invalid. `mix` must belong to this schema.
  static absl::StatusOr<std::shared_ptr<const BatchFormat>> Create(batch::RowSchema schema,
                                                                   std::optional<client::BatchMix> mix = std::nullopt,
                                                                   std::vector<std::string> sets = {});
};

struct Batch::Impl {
  std::shared_ptr<const BatchFormat> format;
  std::vector<client::BatchMemory::Block> blocks;
  std::vector<ColumnView> columns;
  absl::Span<const RowId> ids;
  absl::Span<const int32_t> sets;
  absl::Span<const RowId> sources;
  absl::Span<const uint8_t> valid;
  size_t rows = 0;
  uint64_t epoch = 0;
  uint64_t step = 0;
  uint64_t position = 0;
};

// Several threads may write different rows concurrently. The thread that has written a row then calls RowDone for it.
// When every row is done or has failed, one thread calls Seal. Only a batch without failed rows may be finished.
class BatchBuilder {
 public:
  // Returns null if the allocator has no memory.
  static std::shared_ptr<BatchBuilder> Create(std::shared_ptr<const BatchFormat> format, size_t rows,
                                              const std::shared_ptr<client::BatchMemory>& memory,
                                              const client::BatchPlace& place = {});

  size_t rows() const { return rows_; }

  // Reads a row of `bytes` bytes from the cursor into the row's slot.
  //   OK               the cursor is after the row
  //   InvalidArgument  the bytes are not a row of this format; the message has the reason, and the column if one is
  //                    invalid. The slot may be partly written: write it again. The cursor's position is unspecified.
  absl::Status WriteRow(size_t row, size_t bytes, transport::SliceCursor* cursor);
  // The alternative to WriteRow for a row that this process makes. SlotOf returns the memory of the FIXED columns,
  // which the caller must fill before RowDone. PutRagged sets the RAGGED columns, encoded as in RowSlot::ragged.
  batch::RowSlot SlotOf(size_t row) const;
  void PutRagged(size_t row, std::vector<std::string> ragged);
  // Writes a row without content: zeros in FIXED columns, no elements in RAGGED ones, and "" for a single string.
  void WriteMasked(size_t row);
  // Records that the row is written and will not change. Must be called exactly once for each written row. `valid` is
  // false for a masked row and for padding. If the job mixes rows, the last call for a group of rows mixes the group,
  // unless one of them is invalid.
  void RowDone(size_t row, bool valid);

  // Joins RAGGED columns and stores ids and flags in the batch. `ids` and `valid` have one element for each row.
  // `sources` has one for each row, or is empty if every row is from its own record. `sets` has the data set of each
  // row if the format has names of data sets; otherwise it is empty. Returns ResourceExhausted if the allocator has no
  // memory, and InvalidArgument if the job mixes rows and a label is not a class. Must not be called again, even after
  // an error: the elements of joined columns are gone.
  absl::Status Seal(const std::vector<RowId>& ids, const std::vector<uint8_t>& valid,
                    const std::vector<RowId>& sources = {}, const std::vector<int32_t>& sets = {});

  // Returns the batch. Requires that Seal succeeded. The builder must not be used afterwards.
  Batch Finish(uint64_t epoch, uint64_t step, uint64_t position);

 private:
  // The elements of one row of a RAGGED column, without the count.
  struct Cell {
    uint32_t count = 0;
    std::string bytes;  // numbers: the elements; strings: all lengths, then all texts
  };

  BatchBuilder(std::shared_ptr<const BatchFormat> format, size_t rows, std::shared_ptr<client::BatchMemory> memory);
  absl::Status ReadCell(const batch::ColumnSpec& column, size_t* left, transport::SliceCursor* cursor, Cell* cell);
  absl::Status JoinRagged(size_t column);

  const std::shared_ptr<const BatchFormat> format_;
  const size_t rows_;
  const std::shared_ptr<client::BatchMemory> memory_;
  std::unique_ptr<Batch::Impl> impl_;
  // For each column, the memory of its received rows; null for RAGGED columns. It is the column's memory in the batch,
  // except for integer labels of a job that mixes rows: mixing writes soft labels into the batch.
  std::vector<std::byte*> fixed_;
  std::vector<size_t> row_bytes_;  // for each column, the bytes of one received row; 0 for RAGGED columns
  std::optional<client::GroupMixer> mixer_;
  std::vector<uint8_t> masked_;  // for each row, whether WriteMasked wrote it; empty without a mixer
  RowId* ids_ = nullptr;
  int32_t* sets_ = nullptr;  // null if data sets have no names
  uint8_t* valid_ = nullptr;
  std::vector<std::vector<Cell>> cells_;  // by column and row; empty for FIXED columns
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_ASSEMBLY_BATCH_BUILDER_H_
