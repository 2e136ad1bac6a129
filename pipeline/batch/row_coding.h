// Lossless compression of rows for narrow links. The encoder filters the rows of a message (row_filter.h) and
// compresses them as one Zstandard frame (RFC 8878). v1::RowCoding names the coding in a message.
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
  std::unique_ptr<uint8_t[]> bytes;  // null: send the rows without compression
  size_t size = 0;
};

// Compresses rows. Prefers speed to size: for photographs the entropy coder provides nearly all of the gain, so the
// encoder barely searches for matches. Not thread-safe. Keeps a few hundred KiB between messages.
class RowEncoder {
 public:
  explicit RowEncoder(const RowSchema& schema);
  ~RowEncoder();

  // Appends a row to the current message. `fixed` holds the FIXED columns, and may be null only if the schema has none.
  // `ragged` holds the RAGGED columns.
  void Add(const std::byte* fixed, absl::Span<const std::string> ragged);
  // Returns the rows of the current message as one frame, and begins the next message. Returns null bytes if there are
  // no rows, if compression would save less than an eighth, or if Zstandard fails.
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

  // Returns the consecutive rows of a frame. Row i has lengths[i] bytes. `coded` and `lengths` need not be trusted.
  // Returns InvalidArgument if the rows have more than `limit` bytes in total, or if `coded` is not a frame of that
  // many bytes. Checks the total before it allocates memory.
  absl::StatusOr<std::unique_ptr<uint8_t[]>> Decode(absl::Span<const uint8_t> coded, absl::Span<const uint32_t> lengths,
                                                    size_t limit) const;

 private:
  const RowFilter filter_;
};

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_ROW_CODING_H_
