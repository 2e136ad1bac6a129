// How much heap a piece of code really takes, whoever allocates it: also what happens inside libjpeg, libpng and
// OpenCV. Linking penstock_allocation_peak replaces the program's malloc (glibc), or listens to the sanitizer's.
#ifndef PENSTOCK_TESTS_SUPPORT_ALLOCATION_PEAK_H_
#define PENSTOCK_TESTS_SUPPORT_ALLOCATION_PEAK_H_

#include <cstddef>

namespace penstock {

// Counts from its construction to its destruction, on the thread that made it; what was allocated before does not
// count, nor does its release. One at a time per thread. At most 16384 blocks may live at once.
class AllocationPeak {
 public:
  AllocationPeak();
  ~AllocationPeak();
  AllocationPeak(const AllocationPeak&) = delete;
  AllocationPeak& operator=(const AllocationPeak&) = delete;

  // The most bytes that were asked for and not given back at one time, so far.
  size_t bytes() const;
  // Those not given back now.
  size_t live() const;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_ALLOCATION_PEAK_H_
