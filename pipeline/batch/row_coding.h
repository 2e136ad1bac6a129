// Compression of rows for narrow links. The rows of a message are filtered (row_filter.h) and compressed as one
// Zstandard frame (RFC 8878), without loss. v1::RowCoding names the coding.
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

namespace penstock::batch {

struct CodedRows {
  std::unique_ptr<uint8_t[]> bytes;  // null: no coded rows
  size_t size = 0;
};

// Compresses rows, fast rather than small. The entropy coder provides nearly all of the gain for photographs, so the
// encoder barely searches for matches. Not thread-safe. Keeps a few hundred KiB between calls.
class RowEncoder {
 public:
  explicit RowEncoder(const RowSchema& schema);
  ~RowEncoder();

  // Appends a row to those since the last Finish: its FIXED columns (null if it has none) and its RAGGED ones.
  void Add(const std::byte* fixed, absl::Span<const std::string> ragged);
  // Returns all rows that were added. Returns null bytes if there are none or if compression would save less than an
  // eighth.
  CodedRows Finish();

 private:
  struct Context;

  const RowFilter filter_;
  std::unique_ptr<Context> context_;
  std::vector<uint8_t> plain_;  // filtered rows
};

// Decompresses rows. Thread-safe.
class RowDecoder {
 public:
  explicit RowDecoder(const RowSchema& schema) : filter_(schema) {}

  // Decodes consecutive rows of `lengths` bytes each, at most `limit` bytes in total. `coded` may come from outside.
  // Returns InvalidArgument if it is not such a frame or has another length.
  absl::StatusOr<std::unique_ptr<uint8_t[]>> Decode(absl::Span<const uint8_t> coded, absl::Span<const uint32_t> lengths,
                                                    size_t limit) const;

 private:
  const RowFilter filter_;
};

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_CODING_H_
