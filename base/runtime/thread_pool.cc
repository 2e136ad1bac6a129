#include "base/runtime/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/heap.h"

namespace penstock {

ThreadPool::ThreadPool(int threads, const std::string& name) : name_(name) {
  PS_CHECK(threads >= 1);
  GrowTo(threads);
}

int ThreadPool::GrowTo(int threads) {
  MutexLock lock(&mutex_);
  while (!stopping_ && threads_.size() < static_cast<size_t>(std::max(threads, 0)) && AddThread()) {
  }
  return static_cast<int>(threads_.size());
}

bool ThreadPool::AddThread() {
  try {
    threads_.emplace_back([this, called = absl::StrCat(name_, "-", threads_.size()).substr(0, 15)] {
      const ArenaAnchor anchor;
      pthread_setname_np(pthread_self(), called.c_str());
      Run();
      MutexLock lock(&mutex_);
      if (--running_ == 0) ended_.NotifyAll();
    });
  } catch (const std::system_error&) {  // a limit of a container or a user
    return false;
  }
  ++running_;
  return true;
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Post(Task task) {
  const Nanos now = clock()->Now();
  MutexLock lock(&mutex_);
  if (stopping_) return;
  if (threads_.empty()) AddThread();
  ready_.emplace_back(now, std::move(task));
  WakeOne();
}

bool ThreadPool::TryPost(Task task, size_t most) {
  const Nanos now = clock()->Now();
  MutexLock lock(&mutex_);
  if (stopping_ || ready_.size() >= most) return false;
  if (threads_.empty()) AddThread();
  ready_.emplace_back(now, std::move(task));
  WakeOne();
  return true;
}

TimerId ThreadPool::PostAt(Nanos when, Task task) {
  MutexLock lock(&mutex_);
  const TimerId timer = next_timer_++;
  if (stopping_) return timer;
  if (threads_.empty()) AddThread();
  timers_.emplace(Due(when, timer), std::move(task));
  due_.emplace(timer, when);
  // One thread must watch the timers, until this time at the latest.
  if (watched_ == kNobodyWatches) {
    changed_.NotifyOne();
  } else if (when < watched_) {
    timers_changed_.NotifyOne();
  }
  return timer;
}

bool ThreadPool::Cancel(TimerId timer) {
  Task dropped;  // release its objects outside the lock
  MutexLock lock(&mutex_);
  const auto found = due_.find(timer);
  if (found == due_.end()) return false;
  const auto it = timers_.find(Due(found->second, timer));
  dropped = std::move(it->second);
  timers_.erase(it);
  due_.erase(found);
  return true;
}

void ThreadPool::BeginStop() {
  std::deque<std::pair<Nanos, Task>> ready;
  std::map<Due, Task> timers;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    ready.swap(ready_);
    timers.swap(timers_);
    due_.clear();
    changed_.NotifyAll();
    timers_changed_.NotifyAll();
  }
  ready.clear();
  timers.clear();
}

void ThreadPool::Stop() {
  BeginStop();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool ThreadPool::StopBy(Nanos deadline) {
  BeginStop();
  {
    MutexLock lock(&mutex_);
    while (running_ > 0) {
      const Nanos left = deadline - clock()->Now();
      if (left <= 0) return false;
      ended_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
    }
  }
  Stop();
  return true;
}

bool ThreadPool::TakeNext(Task* task) {
  if (!timers_.empty()) {
    const auto first = timers_.begin();
    const Nanos due = first->first.first;
    // Tasks that were posted before the timer was due run first. Later ones do not delay the timer.
    if ((ready_.empty() || due <= ready_.front().first) && due <= clock()->Now()) {
      *task = std::move(first->second);
      due_.erase(first->first.second);
      timers_.erase(first);
      return true;
    }
  }
  if (ready_.empty()) return false;
  *task = std::move(ready_.front().second);
  ready_.pop_front();
  return true;
}

void ThreadPool::WakeOne() { idle_ > 0 ? changed_.NotifyOne() : timers_changed_.NotifyOne(); }

void ThreadPool::WaitForWork() {
  if (timers_.empty() || watched_ != kNobodyWatches) {
    ++idle_;
    changed_.Wait(&mutex_);
    --idle_;
    return;
  }
  watched_ = timers_.begin()->first.first;
  timers_changed_.WaitFor(&mutex_, std::chrono::nanoseconds(std::max<Nanos>(watched_ - clock()->Now(), 0)));
  watched_ = kNobodyWatches;
}

void ThreadPool::Run() {
  for (;;) {
    Task task;
    {
      MutexLock lock(&mutex_);
      while (!stopping_ && !TakeNext(&task)) WaitForWork();
      if (stopping_) return;
      // This thread may have watched the timers, or may have been woken for two tasks.
      const bool unwatched = !timers_.empty() && watched_ == kNobodyWatches;
      if (!ready_.empty()) {
        WakeOne();
      } else if (unwatched && idle_ > 0) {
        changed_.NotifyOne();
      }
    }
    busy_.fetch_add(1, std::memory_order_relaxed);
    std::move(task)();
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

ThreadPool::Load ThreadPool::load() const {
  MutexLock lock(&mutex_);
  return {busy_.load(std::memory_order_relaxed), ready_.size()};
}

}  // namespace penstock
