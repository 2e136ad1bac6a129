// `penstock pack --resume`: the program behind `penstock convert`, which sends it the records of a source.
#ifndef PENSTOCK_CLIENT_CLI_RESUMABLE_PACK_H_
#define PENSTOCK_CLIENT_CLI_RESUMABLE_PACK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "pipeline/pack/pack_input.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

struct ResumablePack {
  std::string folder;
  std::string prefix;
  uint64_t shard_bytes = 0;
  std::string arguments;  // lines NAME=VALUE that describe the source
  bool replay = false;    // the input repeats the records of finished shards
};

// Prints {"records", "shards", "complete"} of earlier runs, writes the records of `input` as shards, and prints the
// result. After an error the finished shards stay.
absl::Status RunResumablePack(storage::Storage* storage, const ResumablePack& run, pack::PackInput* input);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_RESUMABLE_PACK_H_
