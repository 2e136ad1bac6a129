// Internal parts of RecordRanges.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RECORD_RANGES_PARTS_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RECORD_RANGES_PARTS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "pipeline/loader/read_ahead/range_memory.h"
#include "pipeline/loader/read_ahead/range_plan.h"
#include "pipeline/loader/read_ahead/record_ranges.h"

namespace penstock::loader {

struct RecordRanges::Session {
  explicit Session(std::shared_ptr<std::atomic<uint64_t>> kept)
      : memory(std::make_shared<RangeMemory>(std::move(kept))) {}

  std::shared_ptr<const LoadJob> job;
  std::stop_token stop;
  const std::shared_ptr<RangeMemory> memory;
  // Guarded by RecordRanges::mutex_. Ranges by the position at which the last of their records is needed.
  std::multimap<RequestedSpan::Place, std::shared_ptr<Range>> by_end;
  bool looks_ahead = false;  // LookAhead was called for it
  bool closed = false;
};

// Memory of adjacent records of a shard, with the small gaps between them.
struct RecordRanges::Block {
  Block(std::shared_ptr<RecordRanges> ranges, std::shared_ptr<RangeMemory> from, RangeMemory::Block block,
        uint64_t begins, uint64_t length)
      : of(std::move(ranges)), memory(std::move(from)), in(std::move(block)), begin(begins), bytes(length) {}
  ~Block() {
    // `wanted` uses the owner of the lease. Release() may release the last lease, so this reference keeps the owner
    // alive.
    const std::shared_ptr<BudgetLease::Owner> stays = in.lease->owner();
    memory->Release(std::move(in));
    // Cache the block before `wanted` is called: a thread that begins to wait for memory checks the cached blocks.
    if (of->options_.wanted()) of->ReleaseKept(UINT64_MAX);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::shared_ptr<RecordRanges> of;
  const std::shared_ptr<RangeMemory> memory;
  RangeMemory::Block in;
  const uint64_t begin, bytes;  // within its range
  // Guarded by RecordRanges::mutex_. Records that no row has taken, and whether a row has taken one.
  size_t left = 0;
  bool taken = false;
};

struct RecordRanges::Range : RangeRead {
  explicit Range(RangeRead read) : RangeRead(std::move(read)) {}

  std::weak_ptr<Session> session;
  std::shared_ptr<const LoadJob> job;
  std::shared_ptr<const sources::ShardReader> reader;
  Nanos begun = 0, took = 0;
  // Set while the range is in flight. After that, each record in the table holds its block.
  std::vector<std::shared_ptr<Block>> blocks;
  std::stop_source stop;  // cancels the read; its session's stop also does
  struct Stop {
    std::stop_source source;
    void operator()() const { std::stop_source(source).request_stop(); }  // may end the range and this object
  };
  std::optional<std::stop_callback<Stop>> with_session;
  // Guarded by RecordRanges::mutex_:
  bool here = false;
  size_t left = 0;     // records in the table
  uint64_t freed = 0;  // bytes of blocks that are released with it, once it was dropped
  std::vector<Task> waiting;

  uint64_t OffsetOf(uint64_t number) const {
    return reader->index().RecordOffset(number) - reader->index().RecordOffset(records.first);
  }
};

// Dropped ranges. The destructor releases them and cancels those in flight. It must run outside the lock, because a
// storage may end a read inside the call.
class RecordRanges::Dropped {
 public:
  ~Dropped() {
    for (const auto& range : ranges_) range->stop.request_stop();
  }
  void Add(std::shared_ptr<Range> range) { ranges_.push_back(std::move(range)); }

 private:
  std::vector<std::shared_ptr<Range>> ranges_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RECORD_RANGES_PARTS_H_
