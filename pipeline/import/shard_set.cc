#include "pipeline/import/shard_set.h"

#include <cctype>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/import/ordered_run.h"
#include "pipeline/import/shard_cutter.h"
#include "pipeline/import/shard_folder.h"
#include "pipeline/plan/permutation.h"

namespace penstock::imports {
namespace {

// "import". Makes this permutation differ from all others of the same seed.
constexpr uint64_t kShuffleKey = 0x696d706f7274;

std::vector<std::pair<std::string, std::string>> AllArguments(const RecordSource& source,
                                                              const ShardSetOptions& options) {
  auto all = options.arguments;
  all.emplace_back("prefix", options.prefix);
  all.emplace_back("shard-size", absl::StrCat(options.shard_bytes));
  all.emplace_back("order", options.shuffle ? absl::StrCat("shuffled by seed ", options.seed) : "sorted");
  all.emplace_back("content",
                   absl::StrCat(source.size(), " items, ", absl::Hex(source.fingerprint(), absl::kZeroPad16)));
  return all;
}

// Passes the records, which arrive in order, to the shards, and lists the bad items.
class RecordTaker {
 public:
  RecordTaker(storage::Storage* storage, const ShardSetOptions& options, uint64_t items_total, ShardFolder* folder)
      : options_(options),
        items_total_(items_total),
        folder_(folder),
        shards_(storage, {.prefix = options.prefix, .shard_bytes = options.shard_bytes, .note = {}}, folder) {}

  absl::Status Take(absl::StatusOr<MadeRecord> record) {
    if (record.ok()) {
      PS_RETURN_IF_ERROR(shards_.Write(record->bytes, record->treatment));
      Report();
      return absl::OkStatus();
    }
    if (!IsBadItem(record.status())) return record.status();
    if (!options_.skip_bad) {
      return absl::Status(record.status().code(),
                          absl::StrCat(record.status().message(), " (--skip-bad leaves such items out)"));
    }
    shards_.Skip(std::string(record.status().message()));
    return absl::OkStatus();
  }

  absl::Status Finish() {
    PS_RETURN_IF_ERROR(shards_.FinishShard());
    if (folder_->state().shards.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("every one of the ", items_total_, " items is bad; the first: ", shards_.skipped().front()));
    }
    PS_RETURN_IF_ERROR(folder_->Complete(shards_.skipped()));
    Report();
    return absl::OkStatus();
  }

 private:
  void Report() const {
    if (!options_.progress) return;
    const FinishedShard sums = shards_.Sums();
    options_.progress({.items_done = sums.items,
                       .items_total = items_total_,
                       .records = sums.records,
                       .bytes = sums.bytes,
                       .shards = folder_->state().shards.size()});
  }

  const ShardSetOptions& options_;
  const uint64_t items_total_;
  ShardFolder* const folder_;
  ShardCutter shards_;
};

absl::Status WriteRest(storage::Storage* storage, const RecordSource& source, const ShardSetOptions& options,
                       ShardFolder* folder) {
  std::optional<plan::Permutation> shuffled;
  if (options.shuffle) shuffled.emplace(source.size(), HashWords({kShuffleKey, options.seed}));
  RecordTaker taker(storage, options, source.size(), folder);
  PS_RETURN_IF_ERROR(MakeInOrder(
      source, folder->state().Items(), source.size(),
      [&](uint64_t position) { return shuffled ? shuffled->Permute(position) : position; },
      {.threads = options.threads, .window_bytes = options.window_bytes, .stop = options.stop},
      [&](uint64_t, absl::StatusOr<MadeRecord> record) { return taker.Take(std::move(record)); }));
  return taker.Finish();
}

}  // namespace

absl::Status CheckShardOptions(const ShardSetOptions& options) {
  bool good = !options.prefix.empty() && options.prefix.size() <= 128 && options.prefix[0] != '.';
  for (const char c : options.prefix) {
    good = good && (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.');
  }
  if (!good) {
    return absl::InvalidArgumentError(absl::StrCat("the prefix '", options.prefix,
                                                   "': letters, digits, '-', '_' and '.', at most 128 of them, ",
                                                   "with no dot in front"));
  }
  if (options.shard_bytes == 0) return absl::InvalidArgumentError("a shard size of 0 bytes; 128MiB is usual");
  return absl::OkStatus();
}

absl::StatusOr<ShardSetResult> WriteShards(storage::Storage* storage, const RecordSource& source,
                                           const ShardSetOptions& options) {
  PS_RETURN_IF_ERROR(CheckShardOptions(options));
  if (source.size() == 0) return absl::InvalidArgumentError("there is nothing to write: no items");
  PS_ASSIGN_OR_RETURN(const auto folder, ShardFolder::Open(storage, options.folder, AllArguments(source, options)));
  ShardSetResult result;
  result.resumed_shards = folder->state().shards.size();
  if (!folder->state().complete) {
    if (absl::Status written = WriteRest(storage, source, options, folder.get()); !written.ok()) {
      return folder->Abandon(std::move(written));
    }
  }
  result.state = folder->state();
  return result;
}

}  // namespace penstock::imports
