#include "server/worker/indexes/shard_indexes.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock {
namespace {

absl::Status NotTheSnapshots(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": the file is not the one that the job was submitted with (",
                                                    what, "); put it back, or submit the job again with --replace"));
}

absl::Status CheckContent(const SnapshotShard& shard, const std::string& path, const ShardIndex& index) {
  if (index.content_hash == shard.content_hash && index.record_count() == shard.record_count) return absl::OkStatus();
  return NotTheSnapshots(path, absl::StrCat("its content is another: ", index.record_count(), " records with hash ",
                                            absl::Hex(index.content_hash), ", the job's has ", shard.record_count,
                                            " with ", absl::Hex(shard.content_hash)));
}

}  // namespace

IndexOptions IndexOptionsOf(v1::Dataset::Compression compression, uint64_t max_record_bytes) {
  IndexOptions options;
  switch (compression) {
    case v1::Dataset::NONE:
      options.compression = Compression::kNone;
      break;
    case v1::Dataset::GZIP:
      options.compression = Compression::kGzip;
      break;
    case v1::Dataset::ZLIB:
      options.compression = Compression::kZlib;
      break;
    default:
      options.compression = Compression::kAuto;
  }
  if (max_record_bytes != 0) options.max_record_bytes = max_record_bytes;
  return options;
}

absl::StatusOr<std::shared_ptr<const ShardIndex>> ShardIndexes::Get(const SnapshotShard& shard, const std::string& path,
                                                                    const IndexOptions& options) {
  PS_ASSIGN_OR_RETURN(const FileInfo info, StatFile(path));
  if (info.size != shard.size) {
    return NotTheSnapshots(path, absl::StrCat("it has ", info.size, " bytes, then it had ", shard.size));
  }
  absl::StatusOr<ShardIndex> sidecar = store_.Load(path);
  if (sidecar.ok()) {
    PS_RETURN_IF_ERROR(CheckContent(shard, path, *sidecar));
    return std::make_shared<const ShardIndex>(*std::move(sidecar));
  }
  // The coordinator's blob says which file it was made from. A copy with another time may be another file of the same
  // size, so it is walked here.
  absl::StatusOr<std::string> blob = link_->GetIndex(shard.content_hash);
  if (blob.ok()) {
    absl::StatusOr<ShardIndex> index = ShardIndex::Parse(*blob);
    if (index.ok() && index->content_hash == shard.content_hash && index->record_count() == shard.record_count &&
        index->file_size == info.size && index->mtime_ns == info.mtime_ns) {
      // A sidecar that cannot be written costs a fetch at the next start, nothing else.
      store_.Save(path, *index).IgnoreError();
      return std::make_shared<const ShardIndex>(*std::move(index));
    }
  }
  // A worker that stops begins no walk.
  if (absl::IsCancelled(blob.status())) return blob.status();
  PS_ASSIGN_OR_RETURN(LoadedIndex built, store_.LoadOrBuild(path, options));
  PS_RETURN_IF_ERROR(CheckContent(shard, path, *built.index));
  return std::move(built.index);
}

IndexProvider ShardIndexes::ProviderFor(const v1::JobSpec& spec) {
  const v1::Dataset::Compression compression =
      spec.dataset_size() > 0 ? spec.dataset(0).compression() : v1::Dataset::AUTO;
  const IndexOptions options = IndexOptionsOf(compression, spec.limits().max_record_bytes());
  return [this, options](const SnapshotShard& shard, const std::string& path) { return Get(shard, path, options); };
}

}  // namespace penstock
