#include "pipeline/import/shard_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/temporaries.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxStateBytes = uint64_t{1} << 30;

constexpr char kWayOut[] = "take another --out, or remove the folder to begin anew";

}  // namespace

absl::StatusOr<std::unique_ptr<ShardFolder>> ShardFolder::Open(
    const std::string& path, const std::vector<std::pair<std::string, std::string>>& arguments) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (!there) std::filesystem::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("creating the folder ", path));
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening the folder ", path));
  std::unique_ptr<ShardFolder> folder(new ShardFolder(path, fd, !there));
  // A file system without locks (some network ones) says so by another error: then there is none.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::UnavailableError(absl::StrCat("another run is writing into ", path, "; wait for it, or ", kWayOut));
  }
  ShardState wanted;
  wanted.arguments = arguments;
  PS_RETURN_IF_ERROR(folder->Load(wanted));
  return folder;
}

ShardFolder::~ShardFolder() { close(lock_); }

absl::Status ShardFolder::Load(const ShardState& wanted) {
  const std::string file = File(std::string(kShardStateName));
  const auto text = ReadWholeFile(file, kMaxStateBytes);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  std::error_code error;
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
  std::vector<std::filesystem::path> leftovers;
  for (std::filesystem::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (IsTemporary(name)) {
      leftovers.push_back(it->path());
    } else if (!text.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path_, " is not empty ('", name, "') and was not begun by this command; ", kWayOut));
    }
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("listing ", path_));
  if (text.ok()) {
    for (const auto& leftover : leftovers) std::filesystem::remove(leftover, error);
    return absl::OkStatus();
  }
  return Save(wanted);
}

absl::Status ShardFolder::CheckShards() const {
  for (const FinishedShard& shard : state_.shards) {
    const auto info = StatFile(File(shard.name));
    if (!info.ok() && !absl::IsNotFound(info.status())) return info.status();
    if (info.ok() && info->size == shard.bytes) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        File(shard.name), info.ok() ? absl::StrCat(" has ", info->size, " bytes") : std::string(" is gone"),
        " where an earlier run wrote ", shard.bytes, "; ", kWayOut));
  }
  return absl::OkStatus();
}

absl::Status ShardFolder::Save(const ShardState& state) {
  PS_RETURN_IF_ERROR(WriteFileAtomically(File(std::string(kShardStateName)), state.Serialize()));
  state_ = state;
  return absl::OkStatus();
}

absl::Status ShardFolder::Commit(FinishedShard shard, std::vector<std::string> skipped) {
  ShardState state = state_;
  state.shards.push_back(std::move(shard));
  for (std::string& message : skipped) state.skipped.push_back(std::move(message));
  return Save(state);
}

absl::Status ShardFolder::Complete(std::vector<std::string> skipped) {
  ShardState state = state_;
  for (std::string& message : skipped) state.skipped.push_back(std::move(message));
  state.complete = true;
  return Save(state);
}

void ShardFolder::Abandon() {
  if (!state_.shards.empty() || state_.complete) return;
  std::error_code ignored;
  std::filesystem::remove(File(std::string(kShardStateName)), ignored);
  if (made_) std::filesystem::remove(path_, ignored);  // only when it is empty
}

}  // namespace penstock
