#include "pipeline/storage/object/common/multi_poll.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace penstock::storage {
namespace {

constexpr int kMostEvents = 64;  // handled after one wait

epoll_event EventOf(int socket, int what) {
  epoll_event event{};
  event.events = ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U);
  event.data.fd = socket;
  return event;
}

}  // namespace

MultiPoll::MultiPoll(CURLM* multi)
    : multi_(multi), epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  PS_CHECK(epoll_ && wake_);
  epoll_event event = EventOf(wake_.get(), CURL_POLL_IN);
  PS_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &MultiPoll::WatchSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &MultiPoll::SetTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

int MultiPoll::WatchSocket(CURL* easy, curl_socket_t socket, int what, void* self, void* known) {
  auto* const poll = static_cast<MultiPoll*>(self);
  if (what == CURL_POLL_REMOVE) {
    // The socket may already be closed, which also removed it from epoll.
    epoll_ctl(poll->epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  epoll_event event = EventOf(socket, what);
  const int change = known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  int failed = epoll_ctl(poll->epoll_.get(), change, socket, &event);
  // libcurl closed a socket without notice, and the kernel reused its number.
  if (failed != 0 && (errno == ENOENT || errno == EEXIST)) {
    failed = epoll_ctl(poll->epoll_.get(), errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
  }
  curl_multi_assign(poll->multi_, socket, self);
  return failed == 0 ? 0 : -1;
}

int MultiPoll::SetTimer(CURLM* multi, long milliseconds, void* self) {
  static_cast<MultiPoll*>(self)->due_ =
      milliseconds < 0 ? INT64_MAX : Clock::Real()->Now() + milliseconds * kMillisecond;
  return 0;
}

void MultiPoll::Wait(Nanos most) {
  const Nanos until_due = due_ == INT64_MAX ? most : std::max<Nanos>(0, due_ - Clock::Real()->Now());
  const Nanos wait = std::clamp<Nanos>(until_due, 0, most);
  const int milliseconds = static_cast<int>((wait + kMillisecond - 1) / kMillisecond);
  std::array<epoll_event, kMostEvents> events;
  const int came = epoll_wait(epoll_.get(), events.data(), kMostEvents, milliseconds);
  int running = 0;
  for (int i = 0; i < came; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_.get()) {
      uint64_t times = 0;
      [[maybe_unused]] const ssize_t read_bytes = read(wake_.get(), &times, sizeof times);
      continue;
    }
    const int can = ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                    ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                    ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(multi_, event.data.fd, can, &running);
  }
  if (due_ > Clock::Real()->Now()) return;
  due_ = INT64_MAX;  // libcurl sets the next one
  curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
}

void MultiPoll::Wake() {
  const uint64_t once = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &once, sizeof once);
}

}  // namespace penstock::storage
