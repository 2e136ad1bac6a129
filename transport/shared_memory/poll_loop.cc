#include "transport/shared_memory/poll_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"

namespace penstock::transport {
namespace {

constexpr int kEventsAtOnce = 64;

}  // namespace

absl::StatusOr<std::shared_ptr<PollLoop>> PollLoop::Create(const std::string& name) {
  OwnedFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return ErrnoStatus(errno, "epoll_create1");
  OwnedFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return ErrnoStatus(errno, "eventfd");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) return ErrnoStatus(errno, "epoll_ctl");
  std::shared_ptr<PollLoop> loop(new PollLoop(std::move(epoll), std::move(wake)));
  MutexLock lock(&loop->join_mutex_);
  PollLoop* const running = loop.get();  // the thread ends in Stop, before the loop is destroyed
  PS_ASSIGN_OR_RETURN(loop->thread_, StartThread(name, [running] { running->Run(); }));
  return loop;
}

PollLoop::PollLoop(OwnedFd epoll, OwnedFd wake)
    : epoll_(std::move(epoll)), wake_(std::move(wake)), buffer_(kBufferBytes) {}

PollLoop::~PollLoop() {
  MutexLock lock(&join_mutex_);
  PS_CHECK(!thread_.joinable());
}

void PollLoop::Post(Task task) {
  {
    MutexLock lock(&mutex_);
    if (ended_) return;
    posted_.push_back(std::move(task));
    if (posted_.size() > 1) return;  // the first task woke the thread
  }
  const uint64_t one = 1;
  // Fails only if a wake-up is already pending.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

void PollLoop::Stop() {
  Post([this] {
    MutexLock lock(&mutex_);
    stopping_ = true;
  });
  MutexLock lock(&join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void PollLoop::AssertHere() const { PS_CHECK(std::this_thread::get_id() == id_); }

uint64_t PollLoop::Watch(int fd, uint32_t events, std::shared_ptr<Watcher> watcher) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = next_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return 0;
  watched_.emplace(next_, Watched{fd, std::move(watcher)});
  return next_++;
}

uint64_t PollLoop::WatchEnd(std::shared_ptr<Watcher> watcher) {
  watched_.emplace(next_, Watched{-1, std::move(watcher)});
  return next_++;
}

void PollLoop::Change(uint64_t number, uint32_t events) {
  const auto found = watched_.find(number);
  if (found == watched_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  PS_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.fd, &event) == 0);
}

void PollLoop::Forget(uint64_t number) {
  const auto found = watched_.find(number);
  if (found == watched_.end()) return;
  if (found->second.fd >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  const std::shared_ptr<Watcher> last = std::move(found->second.watcher);  // release it after its removal from watched_
  watched_.erase(found);
}

void PollLoop::RunPosted() {
  std::vector<Task> tasks;
  {
    MutexLock lock(&mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) std::move(task)();
}

void PollLoop::EndWatchers() {
  AssertHere();
  while (!watched_.empty()) {
    const uint64_t number = watched_.begin()->first;
    const std::shared_ptr<Watcher> watcher = watched_.begin()->second.watcher;
    watcher->OnLoopEnds();
    Forget(number);
  }
}

void PollLoop::Run() {
  id_ = std::this_thread::get_id();
  AssertHere();
  epoll_event events[kEventsAtOnce];
  while (true) {
    const int count = epoll_wait(epoll_.get(), events, kEventsAtOnce, -1);
    PS_CHECK(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; ++i) {
      const uint64_t number = events[i].data.u64;  // a copy: epoll_event is packed
      if (number == 0) {
        uint64_t wakes = 0;
        [[maybe_unused]] const ssize_t got = read(wake_.get(), &wakes, sizeof wakes);
        continue;
      }
      // An earlier event may have removed the watch.
      const auto found = watched_.find(number);
      if (found == watched_.end()) continue;
      const std::shared_ptr<Watcher> watcher = found->second.watcher;
      watcher->OnReady(events[i].events);
    }
    RunPosted();
    bool stopping = false;
    {
      MutexLock lock(&mutex_);
      stopping = stopping_;
    }
    if (!stopping) continue;
    EndWatchers();
    std::vector<Task> dropped;
    MutexLock lock(&mutex_);
    ended_ = true;
    dropped.swap(posted_);
    break;
  }
}

}  // namespace penstock::transport
