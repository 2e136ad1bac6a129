#include "pipeline/sources/index_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/sources/inflate_stream.h"
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
  // The content shows the compression of other files.
  if (!windows.type.empty()) rows = HashWords({rows, static_cast<uint64_t>(compression)});
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
                                                        .max_record_bytes = options.max_record_bytes,
                                                        .check_data = options.verify_data,
                                                        .progress = options.progress},
                                                       &recorder));
  ShardIndex index(walker->kind());
  ContentHasher hasher;
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
  }
  PS_ASSIGN_OR_RETURN(const FileInfo after, file.Info());
  if (after != before) {
    return absl::AbortedError(
        absl::StrCat(file.path(), " changed while it was indexed; index it again when its writer is done"));
  }
  PS_RETURN_IF_ERROR(broken);
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
