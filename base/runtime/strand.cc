#include "base/runtime/strand.h"

#include <deque>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"

namespace penstock {
namespace {

// Maximum number of consecutive tasks of one strand before other work runs on the thread.
constexpr int kAtOnce = 32;

// The queue whose task runs on this thread.
thread_local const void* running_queue = nullptr;

}  // namespace

struct Strand::Queue : std::enable_shared_from_this<Strand::Queue> {
  // The strand's task on the executor. If the executor drops the turn without running it, the turn drops the strand's
  // tasks too, because they may own the strand.
  class Turn {
   public:
    explicit Turn(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    Turn(Turn&&) noexcept = default;
    ~Turn() {
      if (queue_ != nullptr) queue_->Close();
    }
    void operator()() { std::exchange(queue_, nullptr)->Run(); }

   private:
    std::shared_ptr<Queue> queue_;
  };

  explicit Queue(Executor* runs_on) : executor(runs_on) {}

  void Add(Task task) {
    {
      MutexLock lock(&mutex);
      if (closed) return;
      tasks.push_back(std::move(task));
      if (std::exchange(scheduled, true)) return;
    }
    executor->Post(Turn(shared_from_this()));
  }

  void Run() {
    const void* const outer = std::exchange(running_queue, this);
    for (int i = 0; i < kAtOnce; ++i) {
      Task task;
      {
        MutexLock lock(&mutex);
        if (tasks.empty()) {
          scheduled = false;
          running_queue = outer;
          return;
        }
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      std::move(task)();
    }
    running_queue = outer;
    executor->Post(Turn(shared_from_this()));
  }

  void Close() {
    std::deque<Task> dropped;
    MutexLock lock(&mutex);
    closed = true;
    dropped.swap(tasks);
  }

  Executor* const executor;
  Mutex mutex;
  std::deque<Task> tasks ABSL_GUARDED_BY(mutex);
  bool scheduled ABSL_GUARDED_BY(mutex) = false;  // Run is posted or running
  bool closed ABSL_GUARDED_BY(mutex) = false;
};

Strand::Strand(Executor* executor) : executor_(executor), queue_(std::make_shared<Queue>(executor)) {}

Strand::~Strand() { queue_->Close(); }

void Strand::Post(Task task) { queue_->Add(std::move(task)); }

bool Strand::RunsHere() const { return running_queue == queue_.get(); }

void Strand::AssertHere() const { PS_CHECK(RunsHere()); }

// Shared by the timer and its task on the executor.
struct StrandTimer::Armed {
  Task task;  // used by the strand's tasks only; empty after Cancel
};

void StrandTimer::Set(Nanos when, Task task) {
  Cancel();
  armed_ = std::make_shared<Armed>();
  armed_->task = std::move(task);
  when_ = when;
  timer_ = strand_->executor_->PostAt(when, [this, armed = armed_, queue = strand_->queue_]() mutable {
    // Unless the task was cancelled, `this` is alive: only the strand's tasks cancel or destroy the timer.
    queue->Add([this, armed = std::move(armed)] {
      if (!armed->task) return;
      armed_ = nullptr;
      std::move(armed->task)();
    });
  });
}

void StrandTimer::Cancel() {
  if (armed_ == nullptr) return;
  armed_->task = nullptr;
  armed_ = nullptr;
  strand_->executor_->Cancel(timer_);
}

}  // namespace penstock
