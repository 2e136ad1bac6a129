// PS_CHECK(condition): if the condition is false, an invariant is broken, and the process aborts with the place and the
// condition. Never use it on external data, which gets an absl::Status.
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
