// Output folder of new shards: claimed by one run at a time, and never mixed with other files.
#ifndef PENSTOCK_PIPELINE_IMPORT_SHARD_FOLDER_H_
#define PENSTOCK_PIPELINE_IMPORT_SHARD_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/import/shard_state.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

// Not thread-safe. The lock on the folder lasts as long as the object or the process. On a file system without locks,
// the run continues without one. A folder may be in a bucket ("s3://bucket/folder"). There a run cannot know whether
// the previous one is alive, so the latest run owns the folder. The state file names its run. If the storage supports
// conditional writes, a run replaces only the state that it read or wrote last.
class ShardFolder {
 public:
  // Creates the folder if it is missing, or continues an earlier run with the same arguments. Removes leftovers of
  // unfinished shards of a killed run.
  //   FailedPrecondition  the folder holds shards of other arguments (the message names each that differs), files that
  //                       no run wrote, a damaged state, or less than its state records; the message has the remedy
  //   Unavailable         another run is writing into it
  //   others              from the storage; Unimplemented for a web server, which CheckOutput() rejects
  static absl::StatusOr<std::unique_ptr<ShardFolder>> Open(
      storage::Storage* storage, const std::string& path,
      const std::vector<std::pair<std::string, std::string>>& arguments);
  ~ShardFolder();
  ShardFolder(const ShardFolder&) = delete;
  ShardFolder& operator=(const ShardFolder&) = delete;

  const ShardState& state() const { return state_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

  // Returns Unavailable if another run has claimed the folder, or another error of the storage. Call this before a
  // shard gets its name, because the other run may use the same name.
  absl::Status StillOurs() const;
  // Records that the shard exists under its name, which items were left out of it, and the owner's note.
  absl::Status Commit(FinishedShard shard, std::vector<std::string> skipped, std::string note = "");
  // Records that the run is complete. `skipped` are items left out after the last shard.
  absl::Status Complete(std::vector<std::string> skipped);
  // Removes the results of Open() if no shard was committed, so that a run that fails at once leaves nothing. It keeps
  // the state if there are other files, such as a shard of a run that was killed before it recorded the shard, or that
  // had lost the folder. The same command can then continue. Returns the reason of the failure: `failed`, or
  // Unavailable if another run has claimed the folder.
  absl::Status Abandon(absl::Status failed);

  // Error of all calls that find the folder claimed by another run.
  static absl::Status AnotherRun(const std::string& path);

 private:
  ShardFolder(storage::Storage* storage, std::string path, int lock, bool made)
      : storage_(storage), path_(std::move(path)), lock_(lock), made_(made) {}

  static absl::StatusOr<std::unique_ptr<ShardFolder>> OpenLocal(storage::Storage* storage, const std::string& path);
  // Lists the names in the folder.
  absl::StatusOr<std::vector<std::string>> Names() const;
  // Reads the state, or checks that the folder is empty.
  absl::Status Load(const ShardState& wanted);
  absl::Status CheckShards() const;
  absl::Status Save(ShardState state);
  absl::Status AnotherRun() const { return AnotherRun(path_); }

  storage::Storage* const storage_;
  const std::string path_;
  const int lock_;  // file descriptor of the folder; -1 in a bucket
  const bool made_;
  std::string run_;  // id of this run, in a bucket
  ShardState state_;
  std::string state_tag_;  // tag of the current state object, in a bucket; "": none
};

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_SHARD_FOLDER_H_
