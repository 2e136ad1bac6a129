#include "pipeline/sources/index_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/inflate_stream.h"
#include "pipeline/sources/manifest/row_files.h"
#include "pipeline/sources/record_selection.h"
#include "pipeline/sources/record_walker.h"

namespace penstock::sources {
namespace {

constexpr uint64_t kBlockRecords = 4096;

}  // namespace

void ContentHasher::Add(std::string_view identity) {
  block_.append(identity);
  ++records_;
  if (records_ % kBlockRecords == 0) Flush();
}

void ContentHasher::Flush() {
  state_ = HashWords({state_, Hash64(block_)});
  block_.clear();
}

uint64_t ContentHasher::Finish() {
  if (!block_.empty()) Flush();
  return HashWords({state_, records_});
}

uint64_t IndexOptions::variant() const {
  uint64_t rows = windows.id();
  if (row_files != nullptr) {
    // Which rows have a file depends on the limit and on the roots.
    std::string roots;
    for (const DataRoot& root : files == nullptr ? std::vector<DataRoot>() : files->roots) {
      absl::StrAppend(&roots, root.name.size(), ":", root.name, root.path.size(), ":", root.path);
    }
    rows = HashWords({rows, row_files->id(), max_record_bytes, Hash64(roots)});
  }
  // The content shows the compression of other files.
  if (windows.has_numbers()) rows = HashWords({rows, static_cast<uint64_t>(compression)});
  if (selection == nullptr) return rows;
  const uint64_t id = rows == 0 ? selection->id() : HashWords({rows, selection->id()});
  return std::max<uint64_t>(id, 1);
}

absl::StatusOr<ShardIndex> BuildShardIndex(const RandomAccessFile& file, const IndexOptions& options) {
  PS_ASSIGN_OR_RETURN(const FileInfo before, file.Info());
  RestartRecorder recorder(options.restart_spacing, options.max_window_bytes);
  PS_ASSIGN_OR_RETURN(auto walker, RecordWalker::Start(&file,
                                                       {.compression = options.compression,
                                                        .container = options.container,
                                                        .windows = options.windows,
                                                        .row_files = options.row_files,
                                                        .files = options.files,
                                                        .max_record_bytes = options.max_record_bytes,
                                                        .check_data = options.verify_data,
                                                        .progress = options.progress},
                                                       &recorder));
  ShardIndex index(walker->kind());
  ContentHasher hasher;
  FileTable files;
  uint64_t without_file = 0;
  absl::Status broken;
  for (;;) {
    if (options.stop.stop_requested()) return absl::CancelledError(absl::StrCat(file.path(), ": not indexed: stopped"));
    PS_ASSIGN_OR_RETURN(const RecordWalker::Step step, walker->Next());
    if (step == RecordWalker::Step::kEnd) break;
    if (step == RecordWalker::Step::kBroken || !walker->data_is_right()) {
      broken = walker->BrokenStatus();
      break;
    }
    if (walker->step_bytes() == 0) {
      index.AppendGap(walker->offset() - index.stream_size());
    } else if (index.record_count() == 0) {
      index.SetSteps(walker->offset(), walker->step_bytes());
    }
    index.AppendRecord(static_cast<uint32_t>(walker->length()), walker->members());
    hasher.Add(walker->identity());
    if (!NamesFiles(index.kind().container)) continue;
    if (!files.Append(walker->file())) {
      files.Append({.error = "the path of its file has more than 65,535 bytes, or its tag more than 255"});
    }
    without_file += walker->file().error.empty() ? 0 : 1;
  }
  PS_ASSIGN_OR_RETURN(const FileInfo after, file.Info());
  if (after != before) {
    return absl::AbortedError(
        absl::StrCat(file.path(), " changed while it was indexed; index it again when its writer is done"));
  }
  PS_RETURN_IF_ERROR(broken);
  if (without_file > 0 && without_file == files.records()) {
    return absl::NotFoundError(absl::StrCat(
        file.path(),
        without_file == 1 ? ": its only row has no file: " : ": no row has a file; record 0: ", files.Piece(0).error));
  }
  if (NamesFiles(index.kind().container)) index.SetFiles(std::move(files));
  index.SetHead(walker->head());
  index.file_size = before.size;
  index.mtime_ns = before.mtime_ns;
  index.tag = before.tag;
  index.content_hash = hasher.Finish();
  if (index.kind().compression != Compression::kNone) index.restart_points = recorder.Take();
  // An empty stream may consist of several members, but has no restart points.
  if (index.stream_size() == 0) index.restart_points.clear();
  index.Compact();
  return index;
}

}  // namespace penstock::sources
