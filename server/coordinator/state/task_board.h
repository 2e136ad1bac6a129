// The coordinator's tasks for workers: assigned and waiting ones. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_TASK_BOARD_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_TASK_BOARD_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"

namespace penstock::coordinator {

struct BoardTask {
  v1::Task task;
  uint32_t shard = 0;           // index of the shard, for an index task
  std::string worker;           // the worker that has it; "" while it waits
  Nanos since = 0;              // when it was assigned
  std::set<std::string> tried;  // workers that failed to do it, by their own fault
  std::string last_error;       // error of the last of them
  bool shortage = false;        // one of them was short of memory; all of them try it again
  Nanos retry_at = 0;           // time at which all of them may try it again; 0: none
};

class TaskBoard {
 public:
  // Task ids grow from `first_id`. It contains the coordinator's term, so that ids differ from those of earlier
  // coordinators.
  explicit TaskBoard(uint64_t first_id) : next_id_(first_id) {}

  // Adds a waiting task. Sets its id and returns it.
  uint64_t Add(v1::Task task, uint32_t shard = 0);

  // Returns an id for a task that is not on the board.
  uint64_t NewId() { return next_id_++; }

  // Assigns waiting tasks to `worker` until it has `limit`, in the order of their jobs and then of their ids. Skips
  // tasks that the worker has tried. Calls `may_take` once for each job, whose waiting tasks are all of one kind.
  void HandOut(const std::string& worker, Nanos now, size_t limit,
               const std::function<bool(const BoardTask&)>& may_take);
  // Returns all tasks of the worker. Each reply to the worker repeats them until they end.
  std::vector<const BoardTask*> TasksOf(const std::string& worker) const;
  size_t CountOf(const std::string& worker) const;

  // Returns null if there is no such task.
  BoardTask* Find(uint64_t id);
  const BoardTask* Find(uint64_t id) const;
  void Erase(uint64_t id);
  void EraseJob(uint64_t job_uid);

  // Returns a task to the waiting ones.
  void Release(BoardTask* task);
  // Allows all workers to try a waiting task again.
  void Retry(BoardTask* task);
  // Releases all tasks of a worker. Returns their number.
  size_t ReleaseWorker(const std::string& worker);

  // Returns the workers that have tasks.
  std::vector<std::string> Holders() const;
  // Returns the ids of tasks that were assigned before `before`.
  std::vector<uint64_t> HandedOutBefore(Nanos before) const;
  // Returns the ids of waiting tasks that some worker failed to do.
  std::vector<uint64_t> WaitingRetries() const;
  bool HasWaiting() const { return !waiting_.empty(); }

 private:
  void SetWaiting(const BoardTask& task);

  uint64_t next_id_;
  std::map<uint64_t, BoardTask> tasks_;
  std::map<uint64_t, std::set<uint64_t>> waiting_;  // by job uid, so that HandOut skips a job in one step
  std::map<std::string, std::set<uint64_t>> held_;  // by worker
  std::map<uint64_t, std::set<uint64_t>> by_job_;   // by job uid
  std::set<uint64_t> retries_;                      // tasks with a non-empty `tried`
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_TASK_BOARD_H_
