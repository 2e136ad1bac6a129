// Rows on a narrow link: a message's rows together, filtered (row_filter.h) and compressed by Zstandard (RFC 8878) as
// one frame. Lossless. v1::RowCoding names it.
#ifndef PENSTOCK_PIPELINE_BATCH_ROW_CODING_H_
#define PENSTOCK_PIPELINE_BATCH_ROW_CODING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pipeline/batch/row.h"
#include "pipeline/batch/row_filter.h"

namespace penstock {

struct CodedRows {
  std::unique_ptr<uint8_t[]> bytes;  // null: none
  size_t size = 0;
};

// Fast rather than small: the entropy coder does nearly all there is to gain in photographs, so matches are hardly
// looked for. Not thread-safe. Holds some hundred KiB between calls.
class RowEncoder {
 public:
  explicit RowEncoder(const RowSchema& schema);
  ~RowEncoder();

  // A row behind those since the last Finish: its FIXED columns, or null where it has none, and its RAGGED ones.
  void Add(const std::byte* fixed, absl::Span<const std::string> ragged);
  // All rows that were added. Nothing where they are none, or it would save less than an eighth.
  CodedRows Finish();

 private:
  struct Context;

  const RowFilter filter_;
  std::unique_ptr<Context> context_;
  std::vector<uint8_t> plain_;  // filtered
};

// For any thread.
class RowDecoder {
 public:
  explicit RowDecoder(const RowSchema& schema) : filter_(schema) {}

  // The way back: rows of `lengths` bytes each, one behind the other, at most `limit` in all. Reads what comes from
  // outside. InvalidArgument: no such frame, or one of another length.
  absl::StatusOr<std::unique_ptr<uint8_t[]>> Decode(absl::Span<const uint8_t> coded, absl::Span<const uint32_t> lengths,
                                                    size_t limit) const;

 private:
  const RowFilter filter_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_CODING_H_
