#include "pipeline/import/shard_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/temporaries.h"

namespace penstock::imports {
namespace {

constexpr uint64_t kMaxStateBytes = uint64_t{1} << 30;

// Maximum number of tries to claim a folder in a bucket. A try fails if another run changes the state between read and
// write, for example when it finishes a shard.
constexpr int kClaims = 8;

constexpr char kWayOut[] = "take another --out, or remove the folder to start from the beginning";

}  // namespace

absl::StatusOr<std::unique_ptr<ShardFolder>> ShardFolder::Open(
    storage::Storage* storage, const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& arguments) {
  std::unique_ptr<ShardFolder> folder;
  if (!storage->IsLocal(path)) {
    folder.reset(new ShardFolder(storage, path, -1, false));
    std::random_device random;
    folder->run_ = absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
  } else {
    PS_ASSIGN_OR_RETURN(folder, OpenLocal(storage, path));
  }
  ShardState wanted;
  wanted.arguments = arguments;
  absl::Status loaded = folder->Load(wanted);
  for (int claims = 1; claims < kClaims && folder->lock_ < 0 && loaded == folder->AnotherRun(); ++claims) {
    folder->state_ = ShardState();
    folder->state_tag_.clear();
    loaded = folder->Load(wanted);
  }
  PS_RETURN_IF_ERROR(loaded);
  return folder;
}

absl::StatusOr<std::unique_ptr<ShardFolder>> ShardFolder::OpenLocal(storage::Storage* storage,
                                                                    const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (!there) std::filesystem::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("creating the folder ", path));
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening the folder ", path));
  std::unique_ptr<ShardFolder> folder(new ShardFolder(storage, path, fd, !there));
  // A file system without locks, such as some network file systems, returns another error. The run then continues
  // without a lock.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return folder->AnotherRun();
  }
  return folder;
}

absl::Status ShardFolder::AnotherRun(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("another run is writing into ", path, "; wait for it, or ", kWayOut));
}

ShardFolder::~ShardFolder() {
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<std::vector<std::string>> ShardFolder::Names() const {
  std::vector<std::string> names;
  PS_ASSIGN_OR_RETURN(const std::vector<storage::StoredEntry> entries, storage_->ListAndWait(path_));
  for (const storage::StoredEntry& entry : entries) names.push_back(entry.name);
  return names;
}

absl::Status ShardFolder::Load(const ShardState& wanted) {
  const std::string file = File(std::string(kShardStateName));
  if (lock_ < 0) {
    // Reads the tag before the state, so that Save() does not replace a state that another run writes in between.
    const auto there = storage_->StatAndWait(file);
    if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
    if (there.ok()) state_tag_ = there->info.tag;
  }
  const auto text = storage::ReadContent(storage_, file, kMaxStateBytes);
  if (absl::IsAborted(text.status())) return AnotherRun();  // another run wrote the state during the read
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  if (text.ok()) {
    const auto state = ParseShardState(*text);
    if (!state.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(file, " is damaged: ", state.status().message(), "; ", kWayOut));
    }
    if (const absl::Status same = SameArguments(*state, wanted); !same.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path_, " holds ", state->complete ? "the" : "the first", " shards of other arguments (",
                       same.message(), "); ", state->complete ? "" : "give the same ones to go on, or ", kWayOut));
    }
    state_ = *state;
    PS_RETURN_IF_ERROR(CheckShards());
  }
  if (!text.ok()) {
    PS_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
    for (const std::string& name : names) {
      if (IsTemporary(name)) continue;
      if (name == kShardStateName) return AnotherRun();  // another run wrote the state after our read
      return absl::FailedPreconditionError(
          absl::StrCat(path_, " is not empty ('", name, "') and was not begun by this command; ", kWayOut));
    }
    return Save(wanted);
  }
  if (lock_ < 0) {
    if (state_.complete) return absl::OkStatus();
    // Claims the folder. If the previous run is alive, it finds a state other than its own and ends.
    PS_RETURN_IF_ERROR(Save(state_));
  }
  return storage_->RemoveUnfinished(path_);
}

absl::Status ShardFolder::CheckShards() const {
  for (const FinishedShard& shard : state_.shards) {
    const auto found = storage_->StatAndWait(File(shard.name));
    if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
    if (found.ok() && found->info.size == shard.bytes) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        File(shard.name), found.ok() ? absl::StrCat(" has ", found->info.size, " bytes") : std::string(" is gone"),
        " where an earlier run wrote ", shard.bytes, "; ", kWayOut));
  }
  return absl::OkStatus();
}

absl::Status ShardFolder::Save(ShardState state) {
  state.run = run_;
  const std::string file = File(std::string(kShardStateName));
  const absl::StatusOr<std::string> tag =
      storage_->Put(file, state.Serialize(), {.is_new = state_tag_.empty(), .tag = state_tag_});
  if (lock_ < 0 && absl::IsAborted(tag.status())) return AnotherRun();
  PS_RETURN_IF_ERROR(tag.status());
  state_tag_ = *tag;
  state_ = std::move(state);
  return absl::OkStatus();
}

absl::Status ShardFolder::Commit(FinishedShard shard, std::vector<std::string> skipped, std::string note) {
  ShardState state = state_;
  state.note = std::move(note);
  state.shards.push_back(std::move(shard));
  for (std::string& message : skipped) state.skipped.push_back(std::move(message));
  return Save(std::move(state));
}

absl::Status ShardFolder::Complete(std::vector<std::string> skipped) {
  ShardState state = state_;
  for (std::string& message : skipped) state.skipped.push_back(std::move(message));
  state.complete = true;
  return Save(std::move(state));
}

absl::Status ShardFolder::StillOurs() const {
  if (lock_ >= 0 || state_tag_.empty()) return absl::OkStatus();
  const auto there = storage_->StatAndWait(File(std::string(kShardStateName)));
  if (absl::IsNotFound(there.status())) return AnotherRun();
  PS_RETURN_IF_ERROR(there.status());
  return there->info.tag == state_tag_ ? absl::OkStatus() : AnotherRun();
}

absl::Status ShardFolder::Abandon(absl::Status failed) {
  const auto names = Names();
  // Another run may have removed this run's parts, which would be the cause of the failure.
  const absl::Status ours = StillOurs();
  if (ours == AnotherRun()) return ours;
  const bool alone =
      ours.ok() && names.ok() && std::all_of(names->begin(), names->end(), [this](const std::string& name) {
        return name == kShardStateName || (lock_ >= 0 && IsTemporary(name));
      });
  if (!alone || !state_.shards.empty() || state_.complete) return failed;
  // The caller reports the run's own error.
  static_cast<void>(storage_->Remove(File(std::string(kShardStateName)), {.tag = state_tag_}));
  std::error_code ignored;
  if (made_) std::filesystem::remove(path_, ignored);  // succeeds only if it is empty
  return failed;
}

}  // namespace penstock::imports
