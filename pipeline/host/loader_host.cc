#include "pipeline/host/loader_host.h"

#include <algorithm>
#include <utility>

#include "base/cgroup.h"
#include "base/status_macros.h"

namespace penstock::host {

MemoryDivision DivisionOf(const LoaderHostOptions& options) {
  const loader::LoaderOptions& loader = options.loader;
  MemoryNeeds needs;
  needs.budget_bytes = loader.memory_budget_bytes;
  for (const uint64_t bytes : {loader.record_cache_bytes, loader.decoded_cache_bytes, loader.row_cache_bytes}) {
    needs.cache_bytes += std::min(bytes, needs.budget_bytes);
  }
  needs.disk_cache = !options.disk_cache.folder.empty();
  needs.rings = options.rings;
  return DivideMemory(needs);
}

LoaderHost::LoaderHost(const LoaderHostOptions& options, const MemoryDivision& memory)
    : memory_(memory), files_(options.read_threads.value_or(0), options.storage) {
  if (memory.rings > 0) shared_row_files_ = std::make_shared<SharedRowFiles>();
}

absl::StatusOr<std::unique_ptr<LoaderHost>> LoaderHost::Create(LoaderHostOptions options) {
  const MemoryDivision memory = DivisionOf(options);
  std::unique_ptr<LoaderHost> host(new LoaderHost(options, memory));
  loader::LoaderOptions& loader = options.loader;
  if (loader.threads == 0) loader.threads = AvailableCpus();
  loader.memory_budget_bytes = memory.loader;
  if (options.read_threads.value_or(0) > 0) loader.reads_under_way = host->files_.reads_under_way();
  loader.shared_row_files = host->shared_row_files_;
  if (!options.disk_cache.folder.empty()) {
    options.disk_cache.index_bytes = memory.disk_index;
    options.disk_cache.queue_bytes = memory.disk_queue;
    options.disk_cache.clock = loader.clock;
    PS_ASSIGN_OR_RETURN(loader.disk_cache, cache::DiskCache::Open(std::move(options.disk_cache)));
  }
  PS_ASSIGN_OR_RETURN(host->loader_, loader::Loader::Create(loader));
  options.tuning.limits.most_threads = loader.threads;
  options.tuning.limits.threads_pinned = options.threads_pinned;
  options.tuning.limits.read_threads_pinned = options.read_threads.has_value();
  host->tuning_ = std::make_unique<loader::SelfTuning>(host->loader_.get(), &host->files_, std::move(options.tuning));
  return host;
}

LoaderHost::~LoaderHost() {
  MutexLock lock(&mutex_);
  if (slow_work_ != nullptr) slow_work_->Stop();
}

Executor* LoaderHost::slow_work() {
  MutexLock lock(&mutex_);
  if (slow_work_ == nullptr) slow_work_ = std::make_unique<ThreadPool>(kSlowThreads, "ps-slow");
  return slow_work_.get();
}

bool LoaderHost::StopBy(Nanos deadline) {
  tuning_->Stop();
  bool loaded = true;
  {
    MutexLock lock(&mutex_);
    if (slow_work_ != nullptr) loaded = slow_work_->StopBy(deadline);
  }
  return files_.StopBy(deadline) && loaded;
}

}  // namespace penstock::host
