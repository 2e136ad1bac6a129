#include "pipeline/loader/loader_activity.h"

#include <algorithm>

namespace penstock::loader {
namespace {

// Shortest time between two looks at idle makers. Each look costs some time per session.
constexpr Nanos kIdleLook = kMillisecond;

}  // namespace

LoaderActivity::LoaderActivity(int makers, Clock* clock) : clock_(clock), makers_(static_cast<size_t>(makers)) {}

std::shared_ptr<JobActivity> LoaderActivity::Of(const std::shared_ptr<const LoadJob>& job) {
  for (const auto& activity : all()) {
    if (activity->IsOf(job)) return activity;
  }
  return jobs_.emplace_back(std::make_shared<JobActivity>(job));
}

const std::vector<std::shared_ptr<JobActivity>>& LoaderActivity::all() {
  std::erase_if(jobs_, [](const auto& activity) { return activity->gone(); });
  return jobs_;
}

void LoaderActivity::TakesRowOf(int maker, const std::shared_ptr<JobActivity>& job) {
  makers_[static_cast<size_t>(maker)].job = job;
}

void LoaderActivity::RowBegins(int maker, Nanos now) { makers_[static_cast<size_t>(maker)].row_since.store(now); }

void LoaderActivity::RowEnds(int maker) { makers_[static_cast<size_t>(maker)].row_since.store(-1); }

std::atomic<Nanos>* LoaderActivity::reading_since(int maker) {
  return &makers_[static_cast<size_t>(maker)].reading_since;
}

void LoaderActivity::Idles() { idle_.Begins(clock_->Now()); }

void LoaderActivity::Resumes() { idle_.Ends(clock_->Now()); }

void LoaderActivity::AddIdle(bool always, WhyIdle why) {
  if (idle_.threads() == 0 && !always) return;
  const Nanos now = clock_->Now();
  if (!always && now - looked_ < kIdleLook) return;
  looked_ = now;
  const Nanos idle = idle_.Take(now);
  if (idle == 0) return;
  for (const auto& activity : jobs_) activity->AddIdle(why(*activity), idle);
}

std::vector<JobTimes> LoaderActivity::Times() {
  std::vector<JobTimes> jobs;
  const Nanos now = clock_->Now();
  for (const auto& activity : all()) {
    Nanos making = 0, reading = 0;
    for (const Maker& maker : makers_) {
      const Nanos since = maker.row_since.load();
      if (maker.job != activity || since < 0) continue;
      making += std::max<Nanos>(0, now - since);
      const Nanos reads_since = maker.reading_since.load();
      if (reads_since >= since) reading += std::max<Nanos>(0, now - reads_since);
    }
    jobs.push_back(activity->Times(making, reading));
  }
  return jobs;
}

}  // namespace penstock::loader
