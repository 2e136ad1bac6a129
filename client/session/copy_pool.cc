#include "client/session/copy_pool.h"

#include <utility>

#include "base/check.h"

namespace penstock {

CopyPool::CopyPool(int threads) {
  PS_CHECK(threads >= 1);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

CopyPool::~CopyPool() { Stop(); }

bool CopyPool::Add(std::function<void()> task) {
  MutexLock lock(&mutex_);
  if (stopping_) return false;
  tasks_.push_back(std::move(task));
  added_.NotifyOne();
  return true;
}

void CopyPool::Stop() {
  std::deque<std::function<void()>> dropped;  // what tasks hold is let go outside the lock
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    added_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void CopyPool::Run() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      while (tasks_.empty() && !stopping_) added_.Wait(&mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace penstock
