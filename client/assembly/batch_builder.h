// Builds one batch in place: rows are written into their slots as they come, straight from the received slices.
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

// What all batches of a reader have in common.
struct BatchFormat {
  RowSchema schema;               // of rows as they come
  std::vector<ColumnInfo> infos;  // the same columns, as the trainer sees them: after mixing
  size_t fixed_bytes = 0;         // schema.FixedBytes()
  size_t memory_bytes = 0;        // what FIXED columns of one row take in a batch
  bool ragged = false;            // any RAGGED column
  std::optional<BatchMix> mix;

  // InvalidArgument names the column whose type or shape cannot be. `mix` must be of this schema.
  static absl::StatusOr<std::shared_ptr<const BatchFormat>> Create(RowSchema schema,
                                                                   std::optional<BatchMix> mix = std::nullopt);
};

struct Batch::Impl {
  std::shared_ptr<const BatchFormat> format;
  std::vector<BatchMemory::Block> blocks;
  std::vector<ColumnView> columns;
  absl::Span<const RowId> ids;
  absl::Span<const RowId> sources;
  absl::Span<const uint8_t> valid;
  size_t rows = 0;
  uint64_t epoch = 0;
  uint64_t step = 0;
  uint64_t position = 0;
};

// Rows may be written by several threads at once, each row by one, which then says RowDone; then one thread calls Seal,
// then one Finish.
class BatchBuilder {
 public:
  // Null when there is no memory.
  static std::shared_ptr<BatchBuilder> Create(std::shared_ptr<const BatchFormat> format, size_t rows,
                                              const std::shared_ptr<BatchMemory>& memory, const BatchPlace& place = {});

  size_t rows() const { return rows_; }

  // Reads a row's `bytes` bytes off the cursor, into the row's slot.
  //   OK               the cursor is behind the row
  //   InvalidArgument  the bytes are no row of this format; says in which column and why. The slot may be half
  //                    written, to be written again.
  absl::Status WriteRow(size_t row, size_t bytes, SliceCursor* cursor);
  // The other way, for who makes rows here: the slot's memory, to be written whole before RowDone, and then the RAGGED
  // columns in their encoding (RowSlot::ragged). The same row is not written by both ways.
  RowSlot SlotOf(size_t row) const;
  void PutRagged(size_t row, std::vector<std::string> ragged);
  // A row without content: zeros, no elements.
  void WriteMasked(size_t row);
  // The row is written, and will not be again. Where the job mixes rows, the last one of a group does so here.
  void RowDone(size_t row, bool valid);

  // Joins RAGGED columns and makes ids and flags the batch's. ids and valid: one for each row. sources: one for each
  // row, or none where every row holds its own record.
  // ResourceExhausted when there is no memory; InvalidArgument for a label that cannot be mixed.
  absl::Status Seal(const std::vector<RowId>& ids, const std::vector<uint8_t>& valid,
                    const std::vector<RowId>& sources = {});

  // The batch; the builder is done.
  Batch Finish(uint64_t epoch, uint64_t step, uint64_t position);

 private:
  // The elements of one row of a RAGGED column, without the count.
  struct Cell {
    uint32_t count = 0;
    std::string bytes;  // strings: the lengths, then the bytes
  };

  BatchBuilder(std::shared_ptr<const BatchFormat> format, size_t rows, std::shared_ptr<BatchMemory> memory);
  absl::Status ReadCell(const ColumnSpec& column, size_t* left, SliceCursor* cursor, Cell* cell);
  absl::Status JoinRagged(size_t column);

  const std::shared_ptr<const BatchFormat> format_;
  const size_t rows_;
  const std::shared_ptr<BatchMemory> memory_;
  std::unique_ptr<Batch::Impl> impl_;
  // Per column, where rows are written as they come: null when RAGGED. That is the batch's column, but for integer
  // labels that mixing makes soft.
  std::vector<std::byte*> fixed_;
  std::vector<size_t> row_bytes_;  // per column, of rows as they come
  std::optional<GroupMixer> mixer_;
  std::vector<uint8_t> masked_;  // per row; empty without a mixer
  RowId* ids_ = nullptr;
  uint8_t* valid_ = nullptr;
  std::vector<std::vector<Cell>> cells_;  // per column and row; empty when FIXED
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_ASSEMBLY_BATCH_BUILDER_H_
