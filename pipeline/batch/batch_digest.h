// The digest of delivered rows. Two runs that deliver the same rows in the same order have the same digest, however the
// rows were made and sent. `penstock read --json` prints it.
//
// It is the SHA-256 of this byte stream, row by row in delivery order (steps in order, slots in order; for a rank, its
// own slots):
//   int64  number of the shard in sorted order
//   int64  number of the record in the shard
//   uint8  1: valid; 0: padding, or a masked row (whose content is zeros)
//   each column in schema order:
//     FIXED   its bytes, dense
//     RAGGED  uint64 length of the rest, then the encoding of pipeline/batch/row.h:
//             uint32 count, then numbers, or uint32 lengths and then the strings' bytes
// All numbers are little-endian.
#ifndef PENSTOCK_PIPELINE_BATCH_BATCH_DIGEST_H_
#define PENSTOCK_PIPELINE_BATCH_BATCH_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace penstock::batch {

// Not thread-safe. For each row, call BeginRow, then one Add function per column in schema order.
class BatchDigest {
 public:
  BatchDigest();
  ~BatchDigest();
  BatchDigest(BatchDigest&&) noexcept;
  BatchDigest& operator=(BatchDigest&&) noexcept;

  // `dataset` is the number of the row's data set; 0 if data sets have no names.
  void BeginRow(int64_t shard, int64_t record, bool valid, int32_t dataset = 0);
  // Adds a FIXED column's bytes.
  void AddFixed(std::string_view bytes);
  void AddFixed(const void* bytes, size_t size) { AddFixed({static_cast<const char*>(bytes), size}); }
  // Adds a RAGGED column: encoded, or as its elements (`bytes` holds all `count` elements, dense).
  void AddRagged(std::string_view encoded);
  void AddRaggedNumbers(uint32_t count, std::string_view bytes);
  void AddRaggedStrings(std::span<const std::string_view> strings);

  struct Column {
    std::string_view bytes;  // encoded for a RAGGED column
    bool ragged = false;
  };
  // Adds a whole row.
  void AddRow(int64_t shard, int64_t record, bool valid, std::span<const Column> columns, int32_t dataset = 0);

  uint64_t rows() const;
  // Returns 64 lowercase hexadecimal digits for all rows so far. More rows may follow.
  std::string Hex() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::batch

#endif  // PENSTOCK_PIPELINE_BATCH_BATCH_DIGEST_H_
