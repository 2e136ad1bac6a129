// Makes the system refuse every new thread of this process, as a limit on threads does.
#ifndef PENSTOCK_TESTS_SUPPORT_REFUSED_THREADS_H_
#define PENSTOCK_TESTS_SUPPORT_REFUSED_THREADS_H_

#include <pthread.h>

#include "base/check.h"

namespace penstock::support {

// The system refuses new threads while one of these exists. Running threads continue.
class RefusedThreads {
 public:
  RefusedThreads() {
    PS_CHECK(pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t attributes;
    PS_CHECK(pthread_attr_init(&attributes) == 0);
    // No address space has room for such a stack.
    PS_CHECK(pthread_attr_setstacksize(&attributes, size_t{1} << 50) == 0);
    PS_CHECK(pthread_setattr_default_np(&attributes) == 0);
    pthread_attr_destroy(&attributes);
  }
  ~RefusedThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_REFUSED_THREADS_H_
