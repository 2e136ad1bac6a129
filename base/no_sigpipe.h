// Protection from SIGPIPE for libraries that write to sockets without MSG_NOSIGNAL, such as OpenSSL.
#ifndef PENSTOCK_BASE_NO_SIGPIPE_H_
#define PENSTOCK_BASE_NO_SIGPIPE_H_

#include <signal.h>

#include <ctime>

namespace penstock {

// While it exists, a write of this thread to a connection that the other side has closed fails with EPIPE, and raises
// no SIGPIPE, which would end the process. Other threads and the process's handler stay as they are. Belongs to the
// thread that constructs it.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{};
    while (!was_pending_ && sigtimedwait(&sigpipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t sigpipe_, before_;
  bool was_pending_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_NO_SIGPIPE_H_
