#include "pipeline/loader/self_tuning.h"

#include <algorithm>
#include <utility>

namespace penstock::loader {

int ReadsUnderWay(int read_threads) { return read_threads + read_threads / 4 + 2; }

namespace {

SelfTuningOptions OnThisHost(SelfTuningOptions options) {
  options.limits.host_cpus = options.host_cpu().cpus;
  options.limits.most_requests = storage::ObjectStorage::kMostUnderWay;
  return options;
}

}  // namespace

SelfTuning::SelfTuning(Loader* loader, storage::RemoteFiles* files, SelfTuningOptions options)
    : loader_(loader),
      files_(files),
      options_(OnThisHost(std::move(options))),
      now_{{options_.limits.most_threads, files->threads()}, 0, ""},
      controller_(options_.limits, {options_.limits.most_threads, files->threads()}),
      caches_(loader) {
  const bool threads_pinned = options_.limits.threads_pinned || options_.limits.most_threads == 1;
  if (options_.limits.read_threads_pinned && threads_pinned && caches_.pinned()) return;
  if (options_.executor == nullptr) thread_ = std::make_unique<ThreadPool>(1, "ps-tune");
  counts_ = Count();
  PostLook();
}

void SelfTuning::Stop() {
  if (thread_ != nullptr) thread_->Stop();
  if (next_look_ != 0) options_.executor->Cancel(next_look_);
}

// Posts the next look, relative to the end of the last window. A slow look is not made up for.
void SelfTuning::PostLook() {
  const Nanos when = counts_.at + tuning::TuningController::kWindow;
  if (thread_ != nullptr) {
    thread_->PostAt(when, [this] { Look(); });
  } else {
    next_look_ = options_.executor->PostAt(when, [this] { Look(); });
  }
}

SelfTuning::Now SelfTuning::Get() const {
  MutexLock lock(&mutex_);
  return now_;
}

TuningCounts SelfTuning::Count() const {
  TuningCounts counts;
  counts.stats = loader_->Stats();
  counts.jobs = loader_->Jobs();
  counts.other_cpu_seconds = options_.host_cpu().others_seconds;
  counts.at = (thread_ != nullptr ? thread_->clock() : options_.executor->clock())->Now();
  return counts;
}

void SelfTuning::Look() {
  TuningCounts counts = Count();
  const tuning::TuningSetting from = controller_.setting();
  const tuning::TuningSetting to = controller_.Step(WindowBetween(counts_, counts), counts.at);
  counts_ = std::move(counts);
  if (to != from) Apply(from, to);
  std::optional<std::string> news = controller_.TakeNews();
  // Only one change at a time: rows that are faster because of a cache must not count for a trial.
  if (!news.has_value() && !controller_.in_trial()) news = caches_.Look(counts_.at);
  {
    MutexLock lock(&mutex_);
    now_.setting = to;
    if (news.has_value()) {
      ++now_.changes;
      now_.last = *news;
    }
  }
  if (news.has_value() && options_.tell) options_.tell(*news);
  PostLook();
}

void SelfTuning::Apply(const tuning::TuningSetting& from, const tuning::TuningSetting& to) {
  LoaderSetting setting;
  setting.threads = to.threads;
  if (to.read_threads == 0) {
    setting.reads_under_way = to.requests;
  } else {
    setting.reads_under_way =
        options_.limits.read_threads_pinned ? files_->reads_under_way() : ReadsUnderWay(to.read_threads);
  }
  loader_->Set(setting);
  if (to.read_threads != from.read_threads) files_->SetThreads(to.read_threads);
  if (options_.set) options_.set(to);
}

}  // namespace penstock::loader
