#include "server/worker/jobs/served_jobs.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/runtime/thread_pool.h"
#include "base/status_macros.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/plan/set_selections.h"
#include "server/common/log_fields.h"

namespace penstock::worker {
namespace {

// Threads that fetch indexes and open files. They wait for storage and the coordinator, not for a CPU.
constexpr int kSlowThreads = 4;

// Applies the decisions that are new since the last call.
void FollowDecisions(const net::WatchedJob& job, const loader::LoadJob& built) {
  if (job.decided != nullptr) built.decided()->Add(*job.decided);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const loader::LoadJob>> BuildLoadJob(storage::Storage* storage, const v1::Job& job,
                                                                    const std::vector<sources::DataRoot>& roots,
                                                                    loader::IndexProvider indexes,
                                                                    loader::DatasetReader::Options options) {
  PS_ASSIGN_OR_RETURN(sources::Snapshot snapshot, sources::SnapshotOf(job.snapshot()));
  if (job.spec().limits().max_record_bytes() != 0) options.max_record_bytes = job.spec().limits().max_record_bytes();
  options.features = loader::SetFeaturesOf(snapshot.containers(), job.spec());
  options.selects = plan::HasSelection(job.snapshot());
  PS_ASSIGN_OR_RETURN(std::shared_ptr<loader::DatasetReader> reader,
                      loader::DatasetReader::Create(storage, std::move(snapshot), roots, std::move(indexes), options));
  return loader::LoadJob::Create(job.spec(), std::move(reader), loader::DamageVerdict::kGiven);
}

struct ServedJobs::Slow {
  ThreadPool threads{kSlowThreads, "ps-slow"};
};

ServedJobs::ServedJobs(storage::Storage* storage, std::vector<sources::DataRoot> roots, ShardIndexes* indexes,
                       uint64_t index_bytes)
    : roots_(std::move(roots)),
      indexes_(indexes),
      storage_(storage),
      index_bytes_(index_bytes),
      file_errors_(std::make_shared<storage::FileErrors>(Clock::Real(),
                                                         [](const std::string& line) { spdlog::warn("{}", line); })),
      slow_(std::make_unique<Slow>()) {}

ServedJobs::~ServedJobs() {
  slow_->threads.Stop();
  MutexLock lock(&mutex_);
  jobs_.clear();
}

bool ServedJobs::StopBy(Nanos deadline) { return slow_->threads.StopBy(deadline); }

Executor* ServedJobs::slow_work() const { return &slow_->threads; }

bool ServedJobs::Update(const net::JobChanges& changes) {
  bool pauses_changed = false;
  MutexLock lock(&mutex_);
  for (const std::string& name : changes.removed) jobs_.erase(name);
  for (const net::WatchedJob& job : changes.jobs) {
    if (job.record.state() != v1::READY) {
      jobs_.erase(job.record.name());
      continue;
    }
    Entry& entry = jobs_[job.record.name()];
    if (entry.job.record.uid() != job.record.uid() || entry.job.record.metadata_id() != job.record.metadata_id()) {
      entry.built = nullptr;
    }
    if (entry.built != nullptr) {
      FollowDecisions(job, *entry.built);
      const bool paused = !job.record.paused_by().empty();
      pauses_changed = entry.built->paused().exchange(paused) != paused || pauses_changed;
    }
    entry.view = IdOf(job);
    entry.job = job;
    entry.job.view = nullptr;
  }
  return pauses_changed;
}

void ServedJobs::Forget(const std::string& name, uint64_t uid) {
  MutexLock lock(&mutex_);
  const auto found = jobs_.find(name);
  if (found != jobs_.end() && found->second.job.record.uid() == uid) jobs_.erase(found);
}

absl::StatusOr<std::shared_ptr<const loader::LoadJob>> ServedJobs::Find(const std::string& name, uint64_t uid) {
  net::WatchedJob watched;
  {
    MutexLock lock(&mutex_);
    const auto found = jobs_.find(name);
    if (found == jobs_.end() || found->second.job.record.uid() != uid) {
      return absl::NotFoundError(absl::StrCat(
          "this worker knows no job '", name, "' with uid ", uid,
          found == jobs_.end() ? std::string()
                               : absl::StrCat("; it was submitted again as ", found->second.job.record.uid()),
          "; open the job again"));
    }
    if (found->second.built != nullptr) return found->second.built;
    watched = found->second.job;
  }
  loader::DatasetReader::Options options;
  options.executor = &slow_->threads;
  options.file_errors = file_errors_;
  options.log_damage = [name](const std::string& line) { server::LogWarn({.job = name}, "job '{}': {}", name, line); };
  options.max_index_bytes = index_bytes_;
  const v1::Job job = net::ToJob(watched);
  PS_ASSIGN_OR_RETURN(loader::IndexProvider indexes, indexes_->ProviderFor(job, roots_));
  PS_ASSIGN_OR_RETURN(std::shared_ptr<const loader::LoadJob> built,
                      BuildLoadJob(storage_, job, roots_, std::move(indexes), options));
  MutexLock lock(&mutex_);
  const auto found = jobs_.find(name);
  if (found == jobs_.end() || found->second.job.record.uid() != uid) return built;
  if (found->second.built == nullptr) {
    FollowDecisions(found->second.job, *built);
    built->paused() = !found->second.job.record.paused_by().empty();
    found->second.built = std::move(built);
  }
  return found->second.built;
}

bool ServedJobs::IsServed(const std::string& name, uint64_t uid, const ViewId& view) const {
  MutexLock lock(&mutex_);
  const auto found = jobs_.find(name);
  return found != jobs_.end() && found->second.job.record.uid() == uid && found->second.view == view;
}

std::vector<std::string> ServedJobs::FileErrorLines(size_t most, size_t bytes) const {
  std::vector<std::string> lines = file_errors_->Lines(most, bytes);
  MutexLock lock(&mutex_);
  for (const auto& [name, entry] : jobs_) {
    if (entry.built == nullptr || lines.size() >= most) continue;
    for (std::string& line : entry.built->reader().DamageLines(most - lines.size())) {
      lines.push_back(std::move(line));
      if (lines.back().size() > bytes) lines.back().resize(bytes);
    }
  }
  return lines;
}

std::vector<std::string> ServedJobs::names() const {
  MutexLock lock(&mutex_);
  std::vector<std::string> out;
  for (const auto& [name, entry] : jobs_) out.push_back(name);
  return out;
}

}  // namespace penstock::worker
