// The digest of delivered rows: two runs that delivered the same rows in the same order have the same one, however
// they were made and sent. What `penstock read --json` prints.
//
// It is the SHA-256 of this byte stream, row after row in delivery order (steps in order, slots in order; of a rank,
// its own slots):
//   int64  number of the shard in sorted order
//   int64  number of the record in the shard
//   uint8  1: valid; 0: padding, or a masked row (whose content is zeros)
//   each column in schema order:
//     FIXED   its bytes, dense
//     RAGGED  uint64 length of what follows, then the encoding of pipeline/batch/row.h:
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

namespace penstock {

// Not thread-safe. For each row: BeginRow, then one call for each column in schema order.
class BatchDigest {
 public:
  BatchDigest();
  ~BatchDigest();
  BatchDigest(BatchDigest&&) noexcept;
  BatchDigest& operator=(BatchDigest&&) noexcept;

  void BeginRow(int64_t shard, int64_t record, bool valid);
  // A FIXED column's bytes.
  void AddFixed(std::string_view bytes);
  void AddFixed(const void* bytes, size_t size) { AddFixed({static_cast<const char*>(bytes), size}); }
  // A RAGGED column: in its encoding, or as its elements (`bytes` are those of all `count` elements, dense).
  void AddRagged(std::string_view encoded);
  void AddRaggedNumbers(uint32_t count, std::string_view bytes);
  void AddRaggedStrings(std::span<const std::string_view> strings);

  // A whole row of raw pieces.
  struct Column {
    std::string_view bytes;  // of a RAGGED column: encoded
    bool ragged = false;
  };
  void AddRow(int64_t shard, int64_t record, bool valid, std::span<const Column> columns);

  uint64_t rows() const;
  // 64 lower-case hexadecimal digits of all rows so far. More rows may follow.
  std::string Hex() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BATCH_BATCH_DIGEST_H_
