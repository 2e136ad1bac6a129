// What `penstock import` and `penstock bake` have in common: flags of the shards, the run with its progress bar, the
// summary.
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

namespace penstock::cli {

// The folder that --out names: absolute, or s3://, gs://, az://. A usage error otherwise.
absl::StatusOr<std::string> OutputFolder(const std::string& out);

// Of a run that writes into `folder` and was stopped by a signal: what of it remains. Takes back what it can of parts
// of shards.
absl::Status Stopped(const std::string& folder);
// What is said where even that takes too long.
std::string RemainsOf(const std::string& folder);

class ShardOutput {
 public:
  // A file beside the shards.
  struct Companion {
    std::string name, content;
  };

  // --out, --prefix, --shard-size, --order, --seed, --threads, --skip-bad, --json
  void AddFlags(Flags* flags);
  // The flags against each other; `shuffle` is the order unless --order says one.
  absl::Status Check(bool shuffle);

  // The folder, absolute, and the glob of its shards.
  const std::string& folder() const { return folder_; }
  std::string Glob() const;
  int threads() const;
  bool skip_bad() const { return skip_bad_; }
  void set_skip_bad() { skip_bad_ = true; }

  // Writes the source's records, then the companions and, where items were skipped, skipped.txt, and prints the
  // summary. `verb` is for the bar: "importing". SIGTERM and SIGINT end it in order meanwhile: the parts of the shard
  // that it was at are taken back.
  absl::Status Write(const RecordSource& source, const std::string& verb,
                     std::vector<std::pair<std::string, std::string>> arguments, std::vector<Companion> companions,
                     const std::string& next_step) const;

 private:
  void Print(const ShardSetResult& result, double seconds, const std::string& next_step) const;

  std::string out_, folder_, prefix_ = "data", order_;
  uint64_t shard_bytes_ = uint64_t{128} << 20, seed_ = 17, threads_ = 0;
  bool shuffle_ = false, skip_bad_ = false, json_ = false;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SHARD_OUTPUT_H_
