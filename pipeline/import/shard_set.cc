#include "pipeline/import/shard_set.h"

#include <cctype>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/import/ordered_run.h"
#include "pipeline/import/shard_folder.h"
#include "pipeline/plan/permutation.h"
#include "pipeline/sources/tfrecord/framing.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"

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

// Splits the records, which arrive in order, into shards.
class ShardCutter {
 public:
  ShardCutter(storage::Storage* storage, const ShardSetOptions& options, uint64_t items_total, ShardFolder* folder)
      : storage_(storage), options_(options), items_total_(items_total), folder_(folder), before_{folder->state()} {}

  absl::Status Take(absl::StatusOr<MadeRecord> record) {
    if (!record.ok()) {
      if (!IsBadItem(record.status())) return record.status();
      if (!options_.skip_bad) {
        return absl::Status(record.status().code(),
                            absl::StrCat(record.status().message(), " (--skip-bad leaves such items out)"));
      }
      skipped_.emplace_back(record.status().message());
      ++shard_.items;
      return absl::OkStatus();
    }
    const uint64_t framed = record->bytes.size() + sources::kRecordFrameBytes;
    if (writer_ != nullptr && shard_.bytes + framed > options_.shard_bytes) PS_RETURN_IF_ERROR(FinishShard());
    if (writer_ == nullptr) {
      shard_.name = ShardName(options_.prefix, folder_->state().shards.size());
      PS_ASSIGN_OR_RETURN(writer_, sources::TFRecordWriter::Open(storage_, folder_->File(shard_.name)));
    }
    PS_RETURN_IF_ERROR(writer_->Write(record->bytes));
    ++shard_.items;
    ++shard_.records;
    shard_.bytes += framed;
    ++shard_.treated[static_cast<size_t>(record->treatment)];
    Report();
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (writer_ != nullptr) PS_RETURN_IF_ERROR(FinishShard());
    if (folder_->state().shards.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("every one of the ", items_total_, " items is bad; the first: ", skipped_.front()));
    }
    PS_RETURN_IF_ERROR(folder_->Complete(std::move(skipped_)));
    Report();
    return absl::OkStatus();
  }

 private:
  absl::Status FinishShard() {
    PS_RETURN_IF_ERROR(folder_->StillOurs());
    PS_RETURN_IF_ERROR(writer_->Close());
    writer_.reset();
    PS_RETURN_IF_ERROR(folder_->Commit(std::exchange(shard_, {}), std::exchange(skipped_, {})));
    before_ = Sums(folder_->state());
    return absl::OkStatus();
  }

  void Report() const {
    if (!options_.progress) return;
    options_.progress({.items_done = before_.items + shard_.items,
                       .items_total = items_total_,
                       .records = before_.records + shard_.records,
                       .bytes = before_.bytes + shard_.bytes,
                       .shards = before_.shards});
  }

  // Sums over the finished shards, kept so that they are not computed for each record.
  struct Sums {
    explicit Sums(const ShardState& state)
        : items(state.Items()), records(state.Records()), bytes(state.Bytes()), shards(state.shards.size()) {}
    uint64_t items, records, bytes, shards;
  };

  storage::Storage* const storage_;
  const ShardSetOptions& options_;
  const uint64_t items_total_;
  ShardFolder* const folder_;
  Sums before_;
  std::unique_ptr<sources::TFRecordWriter> writer_;
  FinishedShard shard_;
  std::vector<std::string> skipped_;
};

absl::Status WriteRest(storage::Storage* storage, const RecordSource& source, const ShardSetOptions& options,
                       ShardFolder* folder) {
  std::optional<plan::Permutation> shuffled;
  if (options.shuffle) shuffled.emplace(source.size(), HashWords({kShuffleKey, options.seed}));
  ShardCutter cutter(storage, options, source.size(), folder);
  PS_RETURN_IF_ERROR(MakeInOrder(
      source, folder->state().Items(), source.size(),
      [&](uint64_t position) { return shuffled ? shuffled->Permute(position) : position; },
      {.threads = options.threads, .window_bytes = options.window_bytes, .stop = options.stop},
      [&](uint64_t, absl::StatusOr<MadeRecord> record) { return cutter.Take(std::move(record)); }));
  return cutter.Finish();
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

std::string ShardName(const std::string& prefix, uint64_t number) {
  return absl::StrFormat("%s-%05d.tfrecord", prefix, number);
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
