// Packed indexes: their rows, and their blob.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/pack_frame.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_index_bytes.h"

// The body of a blob of version 6, after its version. Numbers are varints:
//   rows; for each row: its parts, and for each part: its record, its first value, the number of its values;
//   bytes of the blob of the index of the single records, that blob.
// The body of version 7 has windows in the place of rows: size, stride, step, records of the longest run, runs; for
// each run with a window: its first record as difference to that of the last one, the number of its windows.
namespace penstock::sources {
namespace {

std::string RowSection(const plan::RecordPacks& rows) {
  std::string out;
  AppendVarint(rows.rows(), &out);
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto parts = rows.Row(row);
    AppendVarint(parts.size(), &out);
    for (const plan::PackPart& part : parts) {
      AppendVarint(part.record, &out);
      AppendVarint(part.first, &out);
      AppendVarint(part.count, &out);
    }
  }
  return out;
}

absl::Status ParseRows(WireReader* in, plan::RecordPacks* packs) {
  uint64_t rows = 0;
  // A row takes at least 4 bytes, and a part 3, so a forged number allocates nothing.
  if (!in->ReadVarint(&rows) || rows > in->left() / 4) return DamagedIndex("its rows");
  packs->ends.reserve(rows);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t parts = 0;
    if (!in->ReadVarint(&parts) || parts == 0 || parts > in->left() / 3) return DamagedIndex("a row");
    for (uint64_t i = 0; i < parts; ++i) {
      uint64_t record = 0, first = 0, count = 0;
      if (!in->ReadVarint(&record) || !in->ReadVarint(&first) || !in->ReadVarint(&count) || record > UINT32_MAX ||
          first > UINT32_MAX || count > UINT32_MAX) {
        return DamagedIndex("a part of a row");
      }
      packs->parts.push_back(
          {static_cast<uint32_t>(record), static_cast<uint32_t>(first), static_cast<uint32_t>(count)});
    }
    if (packs->parts.size() > UINT32_MAX) return DamagedIndex("its parts");
    packs->ends.push_back(static_cast<uint32_t>(packs->parts.size()));
  }
  packs->parts.shrink_to_fit();
  return absl::OkStatus();
}

std::string WindowSection(const plan::RecordWindows& windows) {
  std::string out;
  for (const uint64_t number : {windows.options.size, windows.options.stride, windows.options.step, windows.longest_run,
                                uint64_t{windows.runs.size()}}) {
    AppendVarint(number, &out);
  }
  uint32_t begin = 0;
  for (size_t run = 0; run < windows.runs.size(); ++run) {
    AppendVarint(windows.runs[run].begin - begin, &out);
    AppendVarint(windows.RowsOf(run), &out);
    begin = windows.runs[run].begin;
  }
  return out;
}

absl::Status ParseWindows(WireReader* in, plan::RecordWindows* windows) {
  plan::WindowOptions& options = windows->options;
  uint64_t longest = 0, runs = 0;
  if (!in->ReadVarint(&options.size) || !in->ReadVarint(&options.stride) || !in->ReadVarint(&options.step) ||
      !in->ReadVarint(&longest) || options.size < 1 || options.size > plan::kMaxWindowRecords || options.stride < 1 ||
      options.stride > plan::kMaxWindowStep || options.step < 1 || options.step > plan::kMaxWindowStep ||
      longest > UINT32_MAX) {
    return DamagedIndex("its windows");
  }
  // A run takes at least 2 bytes, so a forged number allocates nothing.
  if (!in->ReadVarint(&runs) || runs > in->left() / 2) return DamagedIndex("its runs");
  windows->runs.reserve(runs);
  uint64_t begin = 0, end = 0;  // records of the last run
  for (uint64_t run = 0; run < runs; ++run) {
    uint64_t more = 0, rows = 0;
    if (!in->ReadVarint(&more) || !in->ReadVarint(&rows) || more > UINT32_MAX || rows < 1 || rows > UINT32_MAX) {
      return DamagedIndex("a run");
    }
    begin += more;
    if (begin < end || begin > UINT32_MAX) return DamagedIndex("a run");
    // Both factors are below 2^32, and the span is below 2^52.
    const uint64_t records = (rows - 1) * options.stride;
    if (records > UINT32_MAX || records + options.Span() > UINT32_MAX - begin) return DamagedIndex("a run");
    end = begin + records + options.Span();
    windows->AddRun(begin, end - begin);
  }
  windows->longest_run = std::max(windows->longest_run, longest);
  return absl::OkStatus();
}

// Returns the end of the last record that a window has.
uint64_t EndOf(const plan::RecordWindows& windows) {
  if (windows.runs.empty()) return 0;
  const size_t last = windows.runs.size() - 1;
  return windows.runs[last].begin + (windows.RowsOf(last) - 1) * windows.options.stride + windows.options.Span();
}

}  // namespace

bool IndexPacks::operator==(const IndexPacks& other) const {
  if ((records == nullptr) != (other.records == nullptr)) return false;
  if ((windows == nullptr) != (other.windows == nullptr)) return false;
  if (windows != nullptr && *windows != *other.windows) return false;
  return rows == other.rows && (records == nullptr || *records == *other.records);
}

ShardIndex ShardIndex::WithoutRows() const {
  PS_CHECK(!is_packed() && places_.empty());
  ShardIndex made(kind_);
  made.frame_bytes_ = 0;
  made.whole_hash_ = selected_ ? whole_hash_ : content_hash;
  made.file_size = file_size;
  made.mtime_ns = mtime_ns;
  made.tag = tag;
  return made;
}

uint64_t ShardIndex::BytesInRow(uint64_t k) const {
  const uint64_t file = NamesFiles(kind_.container) ? files_.Bytes(k) + kFileTrailerBytes : 0;
  return head_.size() + RecordLength(k) + file;
}

ShardIndex ShardIndex::Packed(plan::RecordPacks rows) const {
  ShardIndex made = WithoutRows();
  made.content_hash = HashWords({content_hash, Hash64(RowSection(rows))});
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto parts = rows.Row(row);
    uint64_t bytes = PackHeaderBytes(parts.size());
    for (const plan::PackPart& part : parts) {
      PS_CHECK(part.record < record_count());
      bytes += BytesInRow(part.record);
    }
    made.AppendLength(static_cast<uint32_t>(std::min(bytes, kLargestMaxRecordBytes)));
  }
  made.packs_ = {std::make_shared<const ShardIndex>(*this), std::move(rows)};
  made.Compact();
  return made;
}

ShardIndex ShardIndex::Windowed(std::shared_ptr<const plan::RecordWindows> windows) const {
  PS_CHECK(EndOf(*windows) <= record_count());
  ShardIndex made = WithoutRows();
  made.content_hash = HashWords({content_hash, Hash64(WindowSection(*windows))});
  const plan::WindowOptions& options = windows->options;
  // For the last records: the bytes of a record and of all before it in its run at multiples of `step`. Each window is
  // a difference of two sums, so the time does not grow with its size.
  const uint64_t back = options.size * options.step;
  std::vector<uint64_t> sums;
  for (size_t run = 0; run < windows->runs.size(); ++run) {
    const uint64_t begin = windows->runs[run].begin, last = options.Span() - 1,
                   records = (windows->RowsOf(run) - 1) * options.stride + options.Span();
    sums.resize(std::max<uint64_t>(sums.size(), std::min(back, records)));
    for (uint64_t i = 0; i < records; ++i) {
      const uint64_t before = i < options.step ? 0 : sums[(i - options.step) % back];
      const uint64_t dropped = i < back ? 0 : sums[i % back];
      const uint64_t sum = before + BytesInRow(begin + i);
      sums[i % back] = sum;
      if (i < last || (i - last) % options.stride != 0) continue;
      const uint64_t bytes = PackHeaderBytes(options.size) + sum - dropped;
      made.AppendLength(static_cast<uint32_t>(std::min(bytes, kLargestMaxRecordBytes)));
    }
  }
  made.packs_ = {std::make_shared<const ShardIndex>(*this), {}, std::move(windows)};
  made.Compact();
  return made;
}

std::string ShardIndex::SerializePacks() const {
  std::string out = packs_.windows == nullptr ? RowSection(packs_.rows) : WindowSection(*packs_.windows);
  const std::string records = packs_.records->Serialize();
  AppendVarint(records.size(), &out);
  return out + records;
}

absl::StatusOr<ShardIndex> ShardIndex::ParsePacks(uint32_t version, std::string_view body) {
  WireReader in(body);
  plan::RecordPacks rows;
  plan::RecordWindows windows;
  const bool are_windows = version == kVersionOfWindows;
  PS_RETURN_IF_ERROR(are_windows ? ParseWindows(&in, &windows) : ParseRows(&in, &rows));
  std::string_view blob;
  if (!in.ReadLengthPrefixed(&blob) || !in.done() || IsPackedIndex(blob)) {
    return DamagedIndex("the index of its records");
  }
  PS_ASSIGN_OR_RETURN(const ShardIndex records, Parse(blob));
  const auto is_outside = [&](const plan::PackPart& part) { return part.record >= records.record_count(); };
  if (!records.places_.empty() || std::any_of(rows.parts.begin(), rows.parts.end(), is_outside) ||
      EndOf(windows) > records.record_count()) {
    return DamagedIndex("the records of its rows");
  }
  if (are_windows) return records.Windowed(std::make_shared<const plan::RecordWindows>(std::move(windows)));
  return records.Packed(std::move(rows));
}

}  // namespace penstock::sources
