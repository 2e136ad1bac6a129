#include "server/coordinator/state/task_board.h"

#include <utility>

namespace penstock::coordinator {
namespace {

template <typename Key>
void EraseFrom(std::map<Key, std::set<uint64_t>>* map, const Key& key, uint64_t id) {
  auto found = map->find(key);
  if (found == map->end()) return;
  found->second.erase(id);
  if (found->second.empty()) map->erase(found);
}

}  // namespace

uint64_t TaskBoard::Add(v1::Task task, uint32_t shard) {
  const uint64_t id = next_id_++;
  BoardTask& entry = tasks_[id];
  entry.task = std::move(task);
  entry.task.set_id(id);
  entry.shard = shard;
  by_job_[entry.task.job_uid()].insert(id);
  SetWaiting(entry);
  return id;
}

void TaskBoard::SetWaiting(const BoardTask& task) { waiting_[task.task.job_uid()].insert(task.task.id()); }

void TaskBoard::HandOut(const std::string& worker, Nanos now, size_t limit,
                        const std::function<bool(const BoardTask&)>& may_take) {
  size_t count = CountOf(worker);
  for (auto job = waiting_.begin(); job != waiting_.end() && count < limit;) {
    std::vector<uint64_t> taken;
    // All waiting tasks of a job are of one kind.
    if (may_take(tasks_.at(*job->second.begin()))) {
      for (uint64_t id : job->second) {
        if (count >= limit) break;
        BoardTask& task = tasks_.at(id);
        if (task.tried.contains(worker)) continue;
        task.worker = worker;
        task.since = now;
        taken.push_back(id);
        ++count;
      }
    }
    for (uint64_t id : taken) {
      held_[worker].insert(id);
      job->second.erase(id);
    }
    job = job->second.empty() ? waiting_.erase(job) : std::next(job);
  }
}

std::vector<const BoardTask*> TaskBoard::TasksOf(const std::string& worker) const {
  std::vector<const BoardTask*> result;
  auto found = held_.find(worker);
  if (found == held_.end()) return result;
  for (uint64_t id : found->second) result.push_back(&tasks_.at(id));
  return result;
}

size_t TaskBoard::CountOf(const std::string& worker) const {
  auto found = held_.find(worker);
  return found == held_.end() ? 0 : found->second.size();
}

const BoardTask* TaskBoard::Find(uint64_t id) const {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : &found->second;
}

BoardTask* TaskBoard::Find(uint64_t id) {
  auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : &found->second;
}

void TaskBoard::Erase(uint64_t id) {
  auto found = tasks_.find(id);
  if (found == tasks_.end()) return;
  EraseFrom(&waiting_, found->second.task.job_uid(), id);
  EraseFrom(&held_, found->second.worker, id);
  EraseFrom(&by_job_, found->second.task.job_uid(), id);
  retries_.erase(id);
  tasks_.erase(found);
}

void TaskBoard::EraseJob(uint64_t job_uid) {
  auto found = by_job_.find(job_uid);
  if (found == by_job_.end()) return;
  const std::set<uint64_t> ids = found->second;
  for (uint64_t id : ids) Erase(id);
}

void TaskBoard::Release(BoardTask* task) {
  if (!task->worker.empty()) EraseFrom(&held_, task->worker, task->task.id());
  task->worker.clear();
  if (!task->tried.empty()) retries_.insert(task->task.id());
  SetWaiting(*task);
}

void TaskBoard::Retry(BoardTask* task) {
  task->tried.clear();
  task->shortage = false;
  task->retry_at = 0;
  retries_.erase(task->task.id());
}

size_t TaskBoard::ReleaseWorker(const std::string& worker) {
  auto found = held_.find(worker);
  if (found == held_.end()) return 0;
  const std::set<uint64_t> ids = found->second;
  for (uint64_t id : ids) Release(&tasks_.at(id));
  return ids.size();
}

std::vector<std::string> TaskBoard::Holders() const {
  std::vector<std::string> result;
  for (const auto& [worker, ids] : held_) result.push_back(worker);
  return result;
}

std::vector<uint64_t> TaskBoard::HandedOutBefore(Nanos before) const {
  std::vector<uint64_t> result;
  for (const auto& [worker, ids] : held_) {
    for (uint64_t id : ids) {
      if (tasks_.at(id).since < before) result.push_back(id);
    }
  }
  return result;
}

std::vector<uint64_t> TaskBoard::WaitingRetries() const {
  std::vector<uint64_t> result;
  for (uint64_t id : retries_) {
    if (tasks_.at(id).worker.empty()) result.push_back(id);
  }
  return result;
}

}  // namespace penstock::coordinator
