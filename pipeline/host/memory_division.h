// The division of a process's memory budget (docs/dev/memory.md). Pure.
#ifndef PENSTOCK_PIPELINE_HOST_MEMORY_DIVISION_H_
#define PENSTOCK_PIPELINE_HOST_MEMORY_DIVISION_H_

#include <cstdint>

namespace penstock::host {

// The parts that a process needs.
struct MemoryNeeds {
  uint64_t budget_bytes = 0;
  uint64_t cache_bytes = 0;  // first sizes of the loader's caches
  bool disk_cache = false;
  bool rings = false;  // rows for trainers on this host go through shared memory
};

// disk_index, disk_queue, rings and loader add up to the budget.
struct MemoryDivision {
  uint64_t disk_index = 0, disk_queue = 0;
  uint64_t rings = 0;   // size of all rings
  uint64_t loader = 0;  // rows, caches and scratch memory of threads
  uint64_t ring = 0;    // largest size of one ring; counts as a part of `rings`
};

// Returns the division of the budget. A part that is not needed has 0 bytes.
MemoryDivision DivideMemory(const MemoryNeeds& needs);

}  // namespace penstock::host

#endif  // PENSTOCK_PIPELINE_HOST_MEMORY_DIVISION_H_
