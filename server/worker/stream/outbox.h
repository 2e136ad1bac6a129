// Rows that are ready and not yet sent: what goes out next, when, and what can be taken back.
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

namespace penstock {

struct OutboxLimits {
  uint64_t flush_bytes = uint64_t{2} << 20;  // as soon as this much is ready; also a message's size, its last row aside
  Nanos flush_after = 10 * kMillisecond;     // or the first row has waited this long
  size_t max_rows = 8192;                    // of a message, so that its header stays small
};

// Bytes of a row on the wire: its FIXED columns and its encoded RAGGED ones; 0 for a row without content.
uint64_t PayloadBytes(const RowResult& row, uint64_t fixed_bytes);

// Pure bookkeeping; not thread-safe. Fetched rows go out first and at once, then granted ones in the order of their
// steps (RowRequest::step).
//
// A trainer waits for whole steps: a row that leaves before the others of its step shortens no wait, and a message per
// row costs a fifth of what making a row costs. So rows of the step that the trainer waits for are gathered too, and
// the last of them that this worker owes sends them off.
class Outbox {
 public:
  // `fixed_bytes`: of the FIXED columns of one row.
  Outbox(uint64_t fixed_bytes, const OutboxLimits& limits) : fixed_bytes_(fixed_bytes), limits_(limits) {}

  // These were asked of the loader and will come to Add, also when they were revoked before. Fetched ones do not count.
  void Expect(const std::vector<RowRequest>& rows);
  void Add(RowResult row, Nanos now);
  // The trainer waits for step `step`: what belongs to it, or to an earlier one, goes as soon as it is complete here,
  // and is not revoked.
  void SetHead(uint64_t step);

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  uint64_t bytes() const { return bytes_; }

  // When the next message is due: a time that may be past, or nothing while there are no rows.
  std::optional<Nanos> DueAt() const;

  // The rows of the next message, all of one epoch; empty when there are none.
  std::vector<RowResult> Take();

  // Drops rows behind the head step, the furthest first, until their memory reaches `bytes` or none is left; with
  // `head_too` those of the head step as well, last. Returns the memory freed; `dropped` gets what must be asked for
  // again.
  size_t Revoke(size_t bytes, bool head_too, std::vector<RowRequest>* dropped);

  void Clear();

 private:
  using Key = std::tuple<bool, uint64_t, uint64_t>;  // not fetched, step, arrival
  struct Entry {
    RowResult row;
    uint64_t payload = 0;
  };
  bool IsHead(const RowRequest& request) const { return has_head_ && request.step <= head_; }

  const uint64_t fixed_bytes_;
  const OutboxLimits limits_;
  std::map<Key, Entry> rows_;
  std::map<uint64_t, uint64_t> expected_;  // step -> granted rows that have not come; only what is not 0
  uint64_t bytes_ = 0;
  uint64_t next_arrival_ = 0;
  Nanos oldest_ = 0;  // when the first of the rows came; rows left behind by Take keep it
  bool has_head_ = false;
  uint64_t head_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_OUTBOX_H_
