// libcurl's multi interface on epoll: a wake-up costs what has come, however many transfers are under way.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_MULTI_POLL_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_MULTI_POLL_H_

#include <curl/curl.h>

#include "base/owned_fd.h"
#include "base/runtime/clock.h"

namespace penstock {

// For one thread, the one that uses the handle, but for Wake. Outlives the handle, which has no other driver.
class MultiPoll {
 public:
  explicit MultiPoll(CURLM* multi);
  MultiPoll(const MultiPoll&) = delete;
  MultiPoll& operator=(const MultiPoll&) = delete;

  // Waits until a transfer can go on, Wake was called or `most` is over, and lets those go on that can.
  void Wait(Nanos most);
  // Ends a Wait, or the next one. Any thread; does not block.
  void Wake();

 private:
  static int WatchSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int SetTimer(CURLM* multi, long milliseconds, void* self);

  CURLM* const multi_;
  const OwnedFd epoll_, wake_;
  Nanos due_ = INT64_MAX;  // libcurl's timer
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_MULTI_POLL_H_
