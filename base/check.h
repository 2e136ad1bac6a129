// PS_CHECK(condition): a broken invariant of our own ends the process with the place and the condition. Never used
// on outside data, which gets an absl::Status.
#ifndef PENSTOCK_BASE_CHECK_H_
#define PENSTOCK_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define PS_CHECK(condition)                                                                  \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)

#endif  // PENSTOCK_BASE_CHECK_H_
