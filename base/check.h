// PS_CHECK(condition) checks an invariant. If the condition is false, it prints the file, the line and the condition to
// stderr, and aborts the process. Never check external data with it: return an absl::Status for bad data.
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
