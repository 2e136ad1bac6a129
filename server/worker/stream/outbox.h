// Rows that are ready and not yet sent. Decides which rows go out next and when, and which rows can be revoked.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_OUTBOX_H_
#define PENSTOCK_SERVER_WORKER_STREAM_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/loader.h"

namespace penstock::worker {

struct OutboxLimits {
  // Flush as soon as this many bytes or max_rows rows are ready. A message ends with the row that reaches this size.
  uint64_t flush_bytes = uint64_t{2} << 20;
  Nanos flush_after = 10 * kMillisecond;  // or after the first row has waited this long
  size_t max_rows = 8192;                 // limit for one message, so that its header stays small
};

// Returns the bytes of a row on the wire: its FIXED columns and its encoded RAGGED ones; 0 for a row without content.
uint64_t PayloadBytes(const loader::RowResult& row, uint64_t fixed_bytes);

// Pure bookkeeping; not thread-safe. Fetched rows go out first and at once. Granted rows follow in the order of their
// steps (RowRequest::step).
//
// A trainer waits for whole steps. A row that leaves before the others of its step shortens no wait, and a message per
// row costs a fifth of what making a row costs. Rows of the step that the trainer waits for are therefore collected
// too. The last of them that this worker owes triggers the flush.
class Outbox {
 public:
  // `fixed_bytes` is the size of the FIXED columns of one row.
  Outbox(uint64_t fixed_bytes, const OutboxLimits& limits) : fixed_bytes_(fixed_bytes), limits_(limits) {}

  // Registers rows that were requested from the loader, which will pass them to Add. Register revoked rows again when
  // they are requested again. Fetched rows do not count.
  void Expect(const std::vector<loader::RowRequest>& rows);
  void Add(loader::RowResult row, Nanos now);
  // Sets the step that the trainer waits for; an earlier step than before has no effect. Rows of the step, or of an
  // earlier one, go out as soon as the step is complete here. Revoke() drops them only with `head_too`.
  void SetHead(uint64_t step);

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  uint64_t bytes() const { return bytes_; }

  // Returns the due time of the next message, which may have passed, or nullopt while there are no rows.
  std::optional<Nanos> DueAt() const;

  // Removes and returns the rows of the next message, all of one epoch. Returns none if there are none.
  std::vector<loader::RowResult> Take();

  // Drops rows after the head step, the furthest first, until their memory reaches `bytes` or none is left. With
  // `head_too` it then drops rows of the head step as well. Returns the freed memory. Adds to `dropped` the rows that
  // must be requested again.
  size_t Revoke(size_t bytes, bool head_too, std::vector<loader::RowRequest>* dropped);

  void Clear();

 private:
  using Key = std::tuple<bool, uint64_t, uint64_t>;  // not fetched, step, arrival
  struct Entry {
    loader::RowResult row;
    uint64_t payload = 0;
  };
  bool IsHead(const loader::RowRequest& request) const { return has_head_ && request.step <= head_; }

  const uint64_t fixed_bytes_;
  const OutboxLimits limits_;
  std::map<Key, Entry> rows_;
  std::map<uint64_t, uint64_t> expected_;  // step -> granted rows that have not arrived; without zeros
  uint64_t bytes_ = 0;
  uint64_t next_arrival_ = 0;
  Nanos oldest_ = 0;  // when the first of the rows arrived; rows that remain after Take keep it
  bool has_head_ = false;
  uint64_t head_ = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_OUTBOX_H_
