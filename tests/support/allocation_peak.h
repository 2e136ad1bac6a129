// Measures the heap of a piece of code, including allocations inside libjpeg, libpng and OpenCV. Linking
// penstock_allocation_peak replaces the program's malloc (glibc), or installs hooks in the sanitizer's.
#ifndef PENSTOCK_TESTS_SUPPORT_ALLOCATION_PEAK_H_
#define PENSTOCK_TESTS_SUPPORT_ALLOCATION_PEAK_H_

#include <cstddef>

namespace penstock::support {

// Counts allocations and releases of its thread during its life. Earlier allocations and their release do not count.
// One at a time per thread. At most 16384 blocks may live at once.
class AllocationPeak {
 public:
  AllocationPeak();
  ~AllocationPeak();
  AllocationPeak(const AllocationPeak&) = delete;
  AllocationPeak& operator=(const AllocationPeak&) = delete;

  // The largest number of live bytes so far.
  size_t bytes() const;
  // The number of live bytes now.
  size_t live() const;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_ALLOCATION_PEAK_H_
