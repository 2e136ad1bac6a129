// libcurl's multi interface on epoll. The cost of a wake-up depends on the number of ready transfers, not of open ones.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_MULTI_POLL_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_MULTI_POLL_H_

#include <curl/curl.h>

#include "base/owned_fd.h"
#include "base/runtime/clock.h"

namespace penstock::storage {

// Not thread-safe, except Wake(). Must outlive the handle, and must be its only driver.
class MultiPoll {
 public:
  explicit MultiPoll(CURLM* multi);
  MultiPoll(const MultiPoll&) = delete;
  MultiPoll& operator=(const MultiPoll&) = delete;

  // Blocks until a transfer is ready, libcurl's timer is due, Wake() is called or `most` has passed. Then drives the
  // ready transfers.
  void Wait(Nanos most);
  // Ends the current Wait(), or the next one. Thread-safe; does not block.
  void Wake();

 private:
  static int WatchSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int SetTimer(CURLM* multi, long milliseconds, void* self);

  CURLM* const multi_;
  const OwnedFd epoll_, wake_;
  Nanos due_ = INT64_MAX;  // libcurl's timer
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_MULTI_POLL_H_
