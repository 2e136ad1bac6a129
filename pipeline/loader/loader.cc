#include "pipeline/loader/loader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "pipeline/loader/loader_core.h"

namespace penstock::loader {
namespace {

// Largest scratch memory that a thread keeps between rows. Enough for the crops of common photographs, and a small part
// of a small budget.
constexpr uint64_t kMaxThreadScratch = uint64_t{4} << 20;

class SessionImpl final : public Loader::Session {
 public:
  SessionImpl(std::shared_ptr<LoaderCore> core, uint64_t id) : core_(std::move(core)), id_(id) {}
  ~SessionImpl() override {
    if (closed_) return;
    Mutex mutex;
    CondVar changed;
    bool quiet = false;
    core_->CloseSession(id_, [&] {
      MutexLock lock(&mutex);
      quiet = true;
      changed.NotifyAll();
    });
    MutexLock lock(&mutex);
    while (!quiet) changed.Wait(&mutex);
  }
  void Close(Task quiet) override {
    closed_ = true;
    core_->CloseSession(id_, std::move(quiet));
  }
  size_t Request(const std::vector<RowRequest>& rows) override { return core_->Request(id_, rows); }
  void Expect(ExpectedRows rows) override { core_->Expect(id_, std::move(rows)); }
  std::unique_ptr<BudgetLease> Reserve(uint64_t bytes) override { return core_->Reserve(id_, bytes); }
  void NowRevocable() override { core_->NowRevocable(); }
  void SetHead(uint64_t step) override { core_->SetHead(id_, step); }
  size_t pending() const override { return core_->Pending(id_); }

 private:
  const std::shared_ptr<LoaderCore> core_;
  const uint64_t id_;
  bool closed_ = false;
};

class LoaderImpl final : public Loader {
 public:
  // `threads`: the makers' threads, if the loader has its own.
  LoaderImpl(const LoaderOptions& options, const LoaderCore::Sizes& sizes, std::unique_ptr<ThreadPool> threads)
      : threads_(std::move(threads)),
        core_(std::make_shared<LoaderCore>(options, sizes, threads_ != nullptr ? threads_.get() : options.executor)) {
    core_->Start();
  }
  ~LoaderImpl() override {
    core_->Stop();
    core_->LetDiskCacheGo();
  }

  absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const LoadJob> job,
                                                       const LoaderSessionOptions& options, RowSink* sink) override {
    PS_ASSIGN_OR_RETURN(const uint64_t id, core_->OpenSession(std::move(job), options, sink));
    return std::make_unique<SessionImpl>(core_, id);
  }
  void Set(const LoaderSetting& setting) override { core_->Set(setting); }
  void PausesChanged() override { core_->PausesChanged(); }
  absl::StatusOr<PurgedCaches> PurgeCaches(uint64_t record_space) override { return core_->PurgeCaches(record_space); }
  tuning::CacheSizes SetCaches(const tuning::CacheSizes& sizes) override { return core_->SetCaches(sizes); }
  CacheUse TakeCacheUse() override { return core_->TakeCacheUse(); }
  LoaderStats Stats() const override { return core_->Stats(); }
  std::vector<JobTimes> Jobs() const override { return core_->Jobs(); }

 private:
  const std::unique_ptr<ThreadPool> threads_;  // null: an executor was injected
  const std::shared_ptr<LoaderCore> core_;
};

}  // namespace

RowResult::RowResult() = default;
RowResult::~RowResult() = default;
RowResult::RowResult(RowResult&&) noexcept = default;
RowResult& RowResult::operator=(RowResult&& other) noexcept {
  if (this == &other) return *this;
  fixed.reset();  // the memory before its lease
  ragged.clear();
  bytes = std::move(other.bytes);
  request = other.request;
  status = std::move(other.status);
  masked = other.masked;
  lenient = other.lenient;
  substituted = other.substituted;
  fault = std::move(other.fault);
  fault_offset = other.fault_offset;
  damaged_record = other.damaged_record;
  record_id = other.record_id;
  source_record = other.source_record;
  number = other.number;
  source_number = other.source_number;
  fixed = std::move(other.fixed);
  ragged = std::move(other.ragged);
  return *this;
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(const LoaderOptions& options) {
  LoaderCore::Sizes sizes;
  sizes.makers = options.threads > 0 ? options.threads : AvailableCpus();
  const uint64_t threads = static_cast<uint64_t>(sizes.makers);
  sizes.maker_scratch_bytes = std::min(kMaxThreadScratch, options.memory_budget_bytes / (16 * threads));
  const uint64_t scratch = threads * sizes.maker_scratch_bytes;
  const uint64_t total = options.memory_budget_bytes;
  uint64_t left = total;
  bool fits = true;
  for (const uint64_t part : {options.record_cache_bytes, options.decoded_cache_bytes, options.row_cache_bytes}) {
    fits = fits && part <= left;
    left -= std::min(part, left);
  }
  if (!fits || scratch >= left) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory_budget_bytes ", total, " leaves no room for rows beside record_cache_bytes ",
                     options.record_cache_bytes, ", decoded_cache_bytes ", options.decoded_cache_bytes,
                     ", row_cache_bytes ", options.row_cache_bytes, " and ", scratch, " bytes of ", threads,
                     " threads: raise it, or make the caches smaller"));
  }
  sizes.rows_bytes = left - scratch;
  std::unique_ptr<ThreadPool> own;
  if (options.executor == nullptr) {
    PS_RETURN_IF_ERROR(CheckThreads(1, "a loader"));
    own = std::make_unique<ThreadPool>(sizes.makers, "ps-load");  // as many threads as the system grants
    if (own->GrowTo(sizes.makers) == 0) {
      return absl::ResourceExhaustedError(absl::StrCat("the system grants a loader no thread: ", ThreadLimits()));
    }
  }
  return std::make_unique<LoaderImpl>(options, sizes, std::move(own));
}

}  // namespace penstock::loader
