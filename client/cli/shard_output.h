// The common part of `penstock import` and `penstock bake`: the flags for shards, the run with its progress bar, and
// the summary.
#ifndef PENSTOCK_CLIENT_CLI_SHARD_OUTPUT_H_
#define PENSTOCK_CLIENT_CLI_SHARD_OUTPUT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/flags.h"
#include "pipeline/import/record_source.h"
#include "pipeline/import/shard_set.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

// Returns --out as an absolute path, or as a URL to which `storage` can write. Returns a usage error if the name is
// invalid, cannot be written, or contains a glob character.
absl::StatusOr<std::string> OutputFolder(const storage::Storage& storage, const std::string& out);

// Returns the error of a run that a signal stopped. Describes the files that remain in `folder`. In remote storage,
// also removes unfinished uploads if possible.
absl::Status Stopped(storage::Storage* storage, const std::string& folder);
// Returns the message of a run that does not end within StopSignals::kPatience after a signal.
std::string RemainsOf(const storage::Storage& storage, const std::string& folder);

class ShardOutput {
 public:
  // `storage` must outlive this object.
  explicit ShardOutput(storage::Storage* storage) : storage_(storage) {}

  // A file in the folder of the shards.
  struct Companion {
    std::string name, content;
  };

  // Adds --out, --prefix, --shard-size, --order, --seed, --threads, --skip-bad, --json.
  void AddFlags(config::Flags* flags);
  // Checks --out, --order and --threads, and sets folder(). `shuffle` is the default of --order. Must return OK before
  // Write, folder and Glob.
  absl::Status Check(bool shuffle);

  storage::Storage* storage() const { return storage_; }
  // Return the absolute folder, and the glob of its shards.
  const std::string& folder() const { return folder_; }
  std::string Glob() const;
  int threads() const;
  bool skip_bad() const { return skip_bad_; }
  void set_skip_bad() { skip_bad_ = true; }

  // Writes the source's records, then the companions, and skipped.txt if items were skipped. Prints the summary, which
  // ends with `next_step` unless --json is set. `verb` is the text of the progress bar: "importing". After SIGTERM or
  // SIGINT, stops and returns Stopped().
  absl::Status Write(const imports::RecordSource& source, const std::string& verb,
                     std::vector<std::pair<std::string, std::string>> arguments, std::vector<Companion> companions,
                     const std::string& next_step) const;

 private:
  void Print(const imports::ShardSetResult& result, double seconds, const std::string& next_step) const;

  storage::Storage* const storage_;
  std::string out_, folder_, prefix_ = "data", order_;
  uint64_t shard_bytes_ = uint64_t{128} << 20, seed_ = 17, threads_ = 0;
  bool shuffle_ = false, skip_bad_ = false, json_ = false;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SHARD_OUTPUT_H_
