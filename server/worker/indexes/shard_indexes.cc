#include "server/worker/indexes/shard_indexes.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/plan/set_selections.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/sources/file_access.h"

namespace penstock::worker {
namespace {

// Pauses between calls to a coordinator that does not answer.
constexpr Nanos kFirstPause = 200 * kMillisecond;
constexpr Nanos kLongestPause = 5 * kSecond;
constexpr size_t kMostRefused = 4096;
// Interval at which a thread checks for a stop while it waits for the scan of another thread.
constexpr std::chrono::milliseconds kLookForStop{50};

absl::Status Stopped(const std::string& path) { return absl::CancelledError(absl::StrCat(path, ": stopped")); }

v1::GetIndexRequest RequestFor(const sources::SnapshotShard& shard, const FileInfo& file,
                               const std::string& worker_id) {
  v1::GetIndexRequest request;
  request.set_content_hash(shard.content_hash);
  request.mutable_file()->set_size(file.size);
  request.mutable_file()->set_mtime_ns(file.mtime_ns);
  request.mutable_file()->set_tag(file.tag);
  request.set_worker_id(worker_id);
  return request;
}

// A token that is stopped when either of two tokens is.
class EitherStop {
 public:
  EitherStop(const std::stop_token& a, const std::stop_token& b) : first_(a, Stop{&both_}), second_(b, Stop{&both_}) {}
  std::stop_token token() const { return both_.get_token(); }

 private:
  struct Stop {
    std::stop_source* source;
    void operator()() const { source->request_stop(); }
  };
  std::stop_source both_;
  std::stop_callback<Stop> first_, second_;
};

}  // namespace

class ShardIndexes::Turn {
 public:
  Turn(ShardIndexes* indexes, std::string path, const std::stop_token& stop)
      : indexes_(indexes), path_(std::move(path)) {
    MutexLock lock(&indexes_->mutex_);
    while (indexes_->busy_.count(path_) > 0 && !stop.stop_requested()) {
      indexes_->changed_.WaitFor(&indexes_->mutex_, kLookForStop);
    }
    has_ = !stop.stop_requested();
    if (has_) indexes_->busy_.insert(path_);
  }
  ~Turn() {
    if (!has_) return;
    MutexLock lock(&indexes_->mutex_);
    indexes_->busy_.erase(path_);
    indexes_->changed_.NotifyAll();
  }
  // false: stopped before the turn came
  bool has() const { return has_; }

 private:
  ShardIndexes* const indexes_;
  const std::string path_;
  bool has_ = false;
};

void ShardIndexes::Stop() {
  stop_.request_stop();
  MutexLock lock(&mutex_);
  changed_.NotifyAll();
}

absl::Status ShardIndexes::Refuse(const sources::SnapshotShard& shard, const std::string& path, const FileInfo& file,
                                  const std::string& what) {
  absl::Status status = sources::ChangedFile(path, what);
  MutexLock lock(&mutex_);
  if (refused_.size() >= kMostRefused) refused_.erase(refused_.begin());
  refused_[path] = {file, shard.content_hash, status};
  return status;
}

absl::Status ShardIndexes::CheckContent(const sources::SnapshotShard& shard, const std::string& path,
                                        const FileInfo& file, const sources::ShardIndex& index) {
  if (index.content_hash == shard.content_hash && index.record_count() == shard.indexed_records())
    return absl::OkStatus();
  return Refuse(shard, path, file,
                absl::StrCat("its content is another: ", index.record_count(), " records with hash ",
                             absl::Hex(index.content_hash), ", the job's has ", shard.indexed_records(), " with ",
                             absl::Hex(shard.content_hash)));
}

bool ShardIndexes::IsPlain(const std::string& path, const sources::IndexOptions& options) const {
  if (options.compression != sources::Compression::kAuto && options.compression != sources::Compression::kNone)
    return false;
  const absl::StatusOr<std::unique_ptr<storage::StoredFile>> file = store_.storage()->OpenAndWait(path);
  if (!file.ok()) return false;
  const absl::StatusOr<sources::ShardKind> found =
      sources::DetectShardKind(**file, options.compression, options.container);
  return found.ok() && *found == sources::ShardKind{sources::Compression::kNone, sources::ContainerKind::kTfRecord};
}

absl::StatusOr<v1::GetIndexReply> ShardIndexes::Ask(const v1::GetIndexRequest& request, const std::string& path) {
  const auto unavailable = [&path](const absl::Status& status) {
    return absl::UnavailableError(absl::StrCat(
        path,
        ": this worker has no index of it, and cannot request the index from the coordinator: ", status.message()));
  };
  {
    MutexLock lock(&mutex_);
    if (clock_->Now() < ask_after_) return unavailable(not_answered_);
  }
  absl::StatusOr<v1::GetIndexReply> reply = link_->GetIndex(request);
  if (reply.ok() || absl::IsNotFound(reply.status())) {
    MutexLock lock(&mutex_);
    ask_after_ = pause_ = 0;
    return reply;
  }
  if (stop_.stop_requested()) return Stopped(path);
  MutexLock lock(&mutex_);
  const Nanos now = clock_->Now();
  if (now >= ask_after_) {  // otherwise a concurrent call has set it
    pause_ = std::min(kLongestPause, std::max(kFirstPause, 2 * pause_));
    // Many workers lose one coordinator at the same time. The pause varies by up to a quarter, so that their retries
    // are spread.
    const Nanos quarter = pause_ / 4;
    const uint64_t draw = HashWords({Hash64(worker_id_), static_cast<uint64_t>(now)});
    ask_after_ = now + pause_ - quarter + static_cast<Nanos>(draw % static_cast<uint64_t>(2 * quarter));
    not_answered_ = reply.status();
    spdlog::warn("cannot request indexes; the next try is in {} ms: {}", (ask_after_ - now) / kMillisecond,
                 reply.status().ToString());
  }
  return unavailable(reply.status());
}

absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> ShardIndexes::Walk(const sources::SnapshotShard& shard,
                                                                              const std::string& path,
                                                                              const FileInfo& file,
                                                                              const sources::IndexOptions& options) {
  const absl::StatusOr<sources::LoadedIndex> built = store_.LoadOrBuild(path, options);
  const absl::Status good =
      built.ok() ? CheckContent(shard, path, built->index->file_info(), *built->index) : built.status();
  // Other workers need not wait for an index that the coordinator will not have.
  const auto release_turn = [&] {
    v1::GetIndexRequest give_up = RequestFor(shard, file, worker_id_);
    give_up.set_give_up(true);
    link_->GetIndex(give_up).status().IgnoreError();
  };
  if (!good.ok()) {
    release_turn();
    return good;
  }
  Count(*built);
  if (!built->left_out.empty()) spdlog::warn("{}", built->left_out);
  if (!built->save_status.ok()) {
    spdlog::warn("the index of {} is not kept: {}", path, std::string(built->save_status.message()));
  }
  const absl::Status put = link_->PutIndex(shard.content_hash, built->index->Serialize());
  // Otherwise other workers scan it themselves, one after another.
  if (!put.ok()) spdlog::warn("the index of {} did not reach the coordinator: {}", path, std::string(put.message()));
  if (absl::IsInvalidArgument(put) || absl::IsResourceExhausted(put)) release_turn();  // the coordinator rejected it
  return built->index;
}

std::shared_ptr<const sources::ShardIndex> ShardIndexes::EarlierSelection(const sources::SnapshotShard& shard,
                                                                          const std::string& path,
                                                                          const sources::IndexOptions& options) {
  const auto right = [&shard](const absl::StatusOr<sources::ShardIndex>& index) {
    return index.ok() && index->content_hash == shard.content_hash;
  };
  absl::StatusOr<sources::ShardIndex> index = store_.LoadOfAnyState(path, options.variant());
  if (!right(index)) {
    v1::GetIndexRequest any_state;
    any_state.set_content_hash(shard.content_hash);
    const absl::StatusOr<v1::GetIndexReply> reply = Ask(any_state, path);
    if (!reply.ok()) return nullptr;
    index = sources::ShardIndex::Parse(reply->blob());
  }
  return right(index) ? std::make_shared<const sources::ShardIndex>(*std::move(index)) : nullptr;
}

absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> ShardIndexes::Get(const sources::SnapshotShard& shard,
                                                                             const std::string& path,
                                                                             const sources::IndexOptions& options,
                                                                             const std::stop_token& stop) {
  const EitherStop either(stop, stop_.get_token());
  const Turn turn(this, path, either.token());
  if (!turn.has()) return Stopped(path);
  PS_ASSIGN_OR_RETURN(const storage::StoredName found, store_.storage()->StatAndWait(path));
  const FileInfo& info = found.info;
  {
    MutexLock lock(&mutex_);
    const auto refused = refused_.find(path);
    if (refused != refused_.end()) {
      if (refused->second.file == info && refused->second.content_hash == shard.content_hash) {
        return refused->second.status;
      }
      refused_.erase(refused);
    }
  }
  if (info.size != shard.size && IsPlain(path, options)) {
    return Refuse(shard, path, info, absl::StrCat("it has ", info.size, " bytes, then it had ", shard.size));
  }
  absl::StatusOr<sources::ShardIndex> sidecar = store_.Load(path, options.variant());
  // Another job may read the file as lines of text, and this one as rows.
  if (sidecar.ok() && sidecar->kind().container == shard.container) {
    PS_RETURN_IF_ERROR(CheckContent(shard, path, info, *sidecar));
    from_sidecar_.fetch_add(1);
    return std::make_shared<const sources::ShardIndex>(*std::move(sidecar));
  }
  const absl::StatusOr<v1::GetIndexReply> reply = Ask(RequestFor(shard, info, worker_id_), path);
  if (!reply.ok() && !absl::IsNotFound(reply.status())) return reply.status();
  if (reply.ok() && reply->ask_again_ms() > 0) {
    return absl::UnavailableError(absl::StrCat(path, ": its time changed, or its index got lost, and it is ",
                                               reply->builder().empty()
                                                   ? "one of many files that are being indexed"
                                                   : absl::StrCat("being indexed by worker ", reply->builder())));
  }
  if (reply.ok() && !reply->build()) {
    absl::StatusOr<sources::ShardIndex> index = sources::ShardIndex::Parse(reply->blob());
    // An index that is damaged, of another file or of another release counts as none.
    if (index.ok() && index->content_hash == shard.content_hash && index->record_count() == shard.indexed_records() &&
        index->file_info() == info) {
      // Without a sidecar the next start fetches the index again; there is no other effect.
      store_.Save(path, *index, options.variant()).IgnoreError();
      from_coordinator_.fetch_add(1);
      return std::make_shared<const sources::ShardIndex>(*std::move(index));
    }
  }
  if (either.token().stop_requested()) return Stopped(path);
  sources::IndexOptions stoppable = options;
  if (options.selection != nullptr) stoppable.earlier = EarlierSelection(shard, path, options);
  stoppable.stop = either.token();
  return Walk(shard, path, info, stoppable);
}

absl::StatusOr<sources::LoadedIndex> ShardIndexes::Build(const std::string& path,
                                                         const sources::IndexOptions& options) {
  const Turn turn(this, path, stop_.get_token());
  if (!turn.has()) return Stopped(path);
  sources::IndexOptions stoppable = options;
  stoppable.stop = stop_.get_token();
  absl::StatusOr<sources::LoadedIndex> index = store_.LoadOrBuild(path, stoppable);
  if (index.ok()) Count(*index);
  return index;
}

absl::StatusOr<uint64_t> ShardIndexes::Remove(const std::string& path) {
  const Turn turn(this, path, stop_.get_token());
  if (!turn.has()) return Stopped(path);
  removals_.fetch_add(1);
  return store_.Remove(path);
}

absl::StatusOr<loader::IndexProvider> ShardIndexes::ProviderFor(const v1::Job& job,
                                                                const std::vector<sources::DataRoot>& roots) {
  std::vector<sources::IndexOptions> options;  // by data set
  for (int set = 0; set < job.spec().dataset_size(); ++set) {
    PS_ASSIGN_OR_RETURN(options.emplace_back(), selection::WithSelection(sources::IndexOptionsOf(job.spec(), set),
                                                                         plan::SelectionOf(job.snapshot(), set)));
    options.back().files = sources::AccessTo(store_.storage(), roots);
  }
  return [this, options = std::move(options)](const sources::SnapshotShard& shard, const std::string& path,
                                              const std::stop_token& stop) {
    return Get(shard, path, options.at(shard.set), stop);
  };
}

}  // namespace penstock::worker
