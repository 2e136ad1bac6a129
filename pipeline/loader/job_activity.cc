#include "pipeline/loader/job_activity.h"

#include <algorithm>

namespace penstock {
namespace {

double Seconds(Nanos time) { return static_cast<double>(time) / kSecond; }

}  // namespace

JobActivity::JobActivity(const std::shared_ptr<const LoadJob>& job) : job_(job) {
  sums_.job = job->spec().name();
  for (const std::string& stage : job->pipeline().stages()) sums_.stages.push_back({stage, 0});
  stages_.resize(sums_.stages.size());
}

void JobActivity::AddIdle(Idle why, Nanos threads_time) {
  switch (why) {
    case Idle::kUnasked:
      unasked_ += threads_time;
      break;
    case Idle::kStorage:
      storage_ += threads_time;
      break;
    case Idle::kMemory:
      memory_ += threads_time;
      break;
    case Idle::kStarting:
      break;
  }
}

void JobActivity::AddStages(const std::vector<Nanos>& own, Nanos reading) {
  ++sums_.timed_rows;
  for (size_t i = 0; i < std::min(own.size(), stages_.size()); ++i) stages_[i] += own[i];
  if (!stages_.empty()) stages_[StageTimes::kOther] -= std::min(reading, own[StageTimes::kOther]);
}

JobTimes JobActivity::Times(Nanos making, Nanos reading) const {
  JobTimes times = sums_;
  times.making_seconds = Seconds(making_ + making);
  times.reading_seconds = Seconds(reading_ + reading);
  times.storage_seconds = Seconds(storage_);
  times.memory_seconds = Seconds(memory_);
  times.unasked_seconds = Seconds(unasked_);
  times.read_aside_seconds = Seconds(read_aside_);
  for (size_t i = 0; i < stages_.size(); ++i) times.stages[i].seconds = Seconds(stages_[i]);
  return times;
}

}  // namespace penstock
