#include "server/worker/executor.h"

#include <chrono>
#include <utility>

namespace penstock {

WorkerThreads::WorkerThreads(int threads) {
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerThreads::~WorkerThreads() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Post(std::function<void()> function) {
  MutexLock lock(&mutex_);
  tasks_.emplace(0, std::move(function));
  changed_.NotifyOne();
}

void WorkerThreads::PostAfter(Nanos delay, std::function<void()> function) {
  MutexLock lock(&mutex_);
  tasks_.emplace(Clock::Real()->Now() + delay, std::move(function));
  changed_.NotifyOne();
}

void WorkerThreads::Run() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      for (;;) {
        if (tasks_.empty()) {
          if (stopping_) return;
          changed_.Wait(&mutex_);
          continue;
        }
        const Nanos due = tasks_.begin()->first;
        if (due == 0) break;
        if (stopping_) return;
        const Nanos now = Clock::Real()->Now();
        if (due <= now) break;
        changed_.WaitFor(&mutex_, std::chrono::nanoseconds(due - now));
      }
      task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
    }
    task();
  }
}

}  // namespace penstock
