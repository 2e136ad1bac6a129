#include "server/coordinator/service/work_thread.h"

#include <utility>

namespace penstock {

WorkThread::WorkThread(size_t capacity) : capacity_(capacity), thread_([this] { Run(); }) {}

WorkThread::~WorkThread() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  arrived_.NotifyAll();
  thread_.join();
}

bool WorkThread::Post(std::function<void()> work) {
  {
    MutexLock lock(&mutex_);
    if (ending_ || waiting_.size() >= capacity_) return false;
    waiting_.push_back(std::move(work));
  }
  arrived_.NotifyOne();
  return true;
}

void WorkThread::Run() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mutex_);
      while (waiting_.empty() && !ending_) arrived_.Wait(&mutex_);
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace penstock
