// What RecordRanges is made of: seen by its own files alone.
#ifndef PENSTOCK_PIPELINE_LOADER_RANGES_RECORD_RANGES_PARTS_H_
#define PENSTOCK_PIPELINE_LOADER_RANGES_RECORD_RANGES_PARTS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "pipeline/loader/ranges/range_memory.h"
#include "pipeline/loader/ranges/range_plan.h"
#include "pipeline/loader/ranges/record_ranges.h"

namespace penstock {

struct RecordRanges::Session {
  explicit Session(std::shared_ptr<std::atomic<uint64_t>> kept)
      : memory(std::make_shared<RangeMemory>(std::move(kept))) {}

  std::shared_ptr<const LoadJob> job;
  std::stop_token stop;
  const std::shared_ptr<RangeMemory> memory;
  // Of the call of LookAhead that is at it.
  std::atomic<bool> looking{false};
  std::optional<EpochPlan> plan;
  RequestedSpan::Place next;           // to be looked at
  int pass = 0;                        // calls that are not to try
  RequestedSpan::Place shuffled_upto;  // of it: EpochPlan::ShuffledUpTo
  Nanos waits_since = 0;               // for a shard to open; 0: it does not
  Nanos no_waits_until = 0;
  // Of the table's mutex: its ranges, by where the last of their records is wanted.
  std::multimap<RequestedSpan::Place, std::shared_ptr<Range>> by_end;
  bool far = false;  // its rows have been looked ahead for
  bool closed = false;
};

// Memory of records that lie one behind the other.
struct RecordRanges::Block {
  Block(std::shared_ptr<RecordRanges> ranges, std::shared_ptr<RangeMemory> from, RangeMemory::Block block,
        uint64_t begins, uint64_t length)
      : of(std::move(ranges)), memory(std::move(from)), in(std::move(block)), begin(begins), bytes(length) {}
  ~Block() {
    // Whom `wanted` asks lives as long as any of its grabs, and this one's may go.
    const std::shared_ptr<BudgetLease::Owner> stays = in.grab->owner();
    memory->Give(std::move(in));
    // In this order: who begins to wait for memory looks at what is kept.
    if (of->options_.wanted()) of->GiveKeptBack(UINT64_MAX);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::shared_ptr<RecordRanges> of;
  const std::shared_ptr<RangeMemory> memory;
  RangeMemory::Block in;
  const uint64_t begin, bytes;  // in its range
  // Of the table's mutex: records that nobody has taken; whether one was.
  size_t left = 0;
  bool taken = false;
};

struct RecordRanges::Range {
  std::weak_ptr<Session> session;
  std::shared_ptr<const LoadJob> job;
  std::shared_ptr<const ShardReader> reader;
  uint64_t shard_first = 0;  // the number in the snapshot of the shard's first record
  RecordRange records;
  std::vector<uint64_t> wanted;  // numbers in the shard; rising once it has begun
  RequestedSpan::Place end;      // where the last of them is wanted
  Nanos begun = 0, took = 0;
  // While it is under way; from then on those who have a record have its block.
  std::vector<std::shared_ptr<Block>> blocks;
  std::stop_source stop;  // of the read; its session's, too
  struct Stop {
    std::stop_source source;
    void operator()() const { std::stop_source(source).request_stop(); }  // which may end the range, and this
  };
  std::optional<std::stop_callback<Stop>> with_session;
  // Of the table's mutex:
  bool here = false;
  size_t left = 0;     // records in the table
  uint64_t freed = 0;  // bytes of blocks that go with it, once it was dropped
  std::vector<Task> waiting;

  uint64_t OffsetOf(uint64_t number) const { return reader->index().RangeBytes(records.first, number - records.first); }
};

// Ranges that were dropped. They go outside the lock; what is under way of them is broken off, which a storage may do
// inside the call.
class RecordRanges::Dropped {
 public:
  ~Dropped() {
    for (const auto& range : ranges_) range->stop.request_stop();
  }
  void Add(std::shared_ptr<Range> range) { ranges_.push_back(std::move(range)); }

 private:
  std::vector<std::shared_ptr<Range>> ranges_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_RANGES_RECORD_RANGES_PARTS_H_
