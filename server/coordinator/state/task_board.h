// Work that workers do for the coordinator: who has what, and what waits. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_TASK_BOARD_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_TASK_BOARD_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"

namespace penstock {

struct BoardTask {
  v1::Task task;
  uint32_t shard = 0;           // of an index task
  std::string worker;           // who has it; "" while it waits
  Nanos since = 0;              // when it was handed out
  std::set<std::string> tried;  // workers that could not do it, by their own fault
  std::string last_error;       // of the last of them
};

class TaskBoard {
 public:
  // `first_id`: ids grow from here; a coordinator's term makes them unlike those of the one before.
  explicit TaskBoard(uint64_t first_id) : next_id_(first_id) {}

  // Adds a task that waits; sets its id and returns it.
  uint64_t Add(v1::Task task, uint32_t shard = 0);

  // Hands waiting tasks to `worker` until it has `limit`, oldest first, skipping those that it has
  // tried. `may_take` is asked once for each job and kind of task.
  void HandOut(const std::string& worker, Nanos now, size_t limit,
               const std::function<bool(const BoardTask&)>& may_take);
  // All that the worker has, to be repeated in its replies.
  std::vector<const BoardTask*> TasksOf(const std::string& worker) const;
  size_t CountOf(const std::string& worker) const;

  BoardTask* Find(uint64_t id);
  void Erase(uint64_t id);
  void EraseJob(uint64_t job_uid);

  // Puts a task back to wait.
  void Release(BoardTask* task);
  // All of a worker's. Returns how many there were.
  size_t ReleaseWorker(const std::string& worker);

  // Workers that have tasks.
  std::vector<std::string> Holders() const;
  // Ids of tasks that were handed out before `before`.
  std::vector<uint64_t> HandedOutBefore(Nanos before) const;
  // Ids of waiting tasks that some worker could not do.
  std::vector<uint64_t> WaitingRetries() const;
  bool HasWaiting() const { return !waiting_.empty(); }

 private:
  void SetWaiting(const BoardTask& task);

  uint64_t next_id_;
  std::map<uint64_t, BoardTask> tasks_;
  std::map<uint64_t, std::set<uint64_t>> waiting_;  // by the job's uid, so that a job is skipped at once
  std::map<std::string, std::set<uint64_t>> held_;  // by worker
  std::map<uint64_t, std::set<uint64_t>> by_job_;   // by its uid
  std::set<uint64_t> retries_;                      // those with a non-empty `tried`
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_TASK_BOARD_H_
