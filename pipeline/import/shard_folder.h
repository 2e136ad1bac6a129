// The folder that new shards go into: claimed by one run at a time, and never mixed with what is another's.
#ifndef PENSTOCK_PIPELINE_IMPORT_SHARD_FOLDER_H_
#define PENSTOCK_PIPELINE_IMPORT_SHARD_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/import/shard_state.h"

namespace penstock {

// Not thread-safe. The lock on the folder lasts as long as the object, or the process. A folder may be one of objects
// ("s3://bucket/folder"), where nobody knows whether the run that began it lives: there the run that came last has it.
// What keeps two apart is the state, which says whose it is and is written only in the place of the one that was read,
// where the storage knows conditions.
class ShardFolder {
 public:
  // Makes the folder where it is not there, or takes up what an earlier run with these very arguments left in it.
  // Leftovers of shards that a killed run was writing are removed.
  //   FailedPrecondition  it holds the shards of other arguments (each that differs is named), files that no run wrote,
  //                       or less than its state says; the message says the way out
  //   Unavailable         another run is writing into it
  //   InvalidArgument     it is behind plain HTTP
  static absl::StatusOr<std::unique_ptr<ShardFolder>> Open(
      const std::string& path, const std::vector<std::pair<std::string, std::string>>& arguments);
  ~ShardFolder();
  ShardFolder(const ShardFolder&) = delete;
  ShardFolder& operator=(const ShardFolder&) = delete;

  const ShardState& state() const { return state_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // Unavailable: another run has taken the folder over. Asked before a shard gets its name, which may be that of one of
  // the other run's.
  absl::Status StillOurs() const;
  // Notes that the shard is there, under its name, with what was left out of it.
  absl::Status Commit(FinishedShard shard, std::vector<std::string> skipped);
  // Notes that all is done; `skipped` was left out behind the last shard.
  absl::Status Complete(std::vector<std::string> skipped);
  // Takes back what Open made, when no shard was committed: a run that failed at once leaves nothing behind. Of objects
  // the state stays where a run that has lost the folder finished a shard all the same, so that the same command takes
  // it up. Returns why the run failed: `failed`, or Unavailable because another one has taken the folder over, and with
  // it all that this one began.
  absl::Status Abandon(absl::Status failed);

  // What all calls end with that find the folder in another run's hands.
  static absl::Status AnotherRun(const std::string& path);

 private:
  ShardFolder(std::string path, int lock, bool made) : path_(std::move(path)), lock_(lock), made_(made) {}

  static absl::StatusOr<std::unique_ptr<ShardFolder>> OpenLocal(const std::string& path);
  // The names in it.
  absl::StatusOr<std::vector<std::string>> Names() const;
  // Reads the state, or finds the folder empty.
  absl::Status Load(const ShardState& wanted);
  absl::Status CheckShards() const;
  absl::Status Save(ShardState state);
  absl::Status AnotherRun() const { return AnotherRun(path_); }

  const std::string path_;
  const int lock_;  // file descriptor of the folder; -1 of objects
  const bool made_;
  std::string run_;  // ours, of objects
  ShardState state_;
  std::string state_tag_;  // of the state that is there, of objects; "": none
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_FOLDER_H_
