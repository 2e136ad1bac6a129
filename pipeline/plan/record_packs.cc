#include "pipeline/plan/record_packs.h"

#include <algorithm>
#include <deque>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/plan/permutation.h"

namespace penstock::plan {
namespace {

// "PACKSHUF" as a number. Separates this use of hashes from all others.
constexpr uint64_t kShuffleDomain = 0x5041434b53485546;

absl::Status CheckParts(size_t parts) {
  if (parts <= UINT32_MAX) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a file is packed into more than ", UINT32_MAX, " parts of records; make smaller files"));
}

// Returns the parts of the records [begin, end) that no row shall divide further.
std::vector<PackPart> WholeParts(std::span<const uint32_t> lengths, size_t begin, size_t end,
                                 const PackOptions& options) {
  std::vector<PackPart> parts;
  for (size_t k = begin; k < end; ++k) {
    const auto record = static_cast<uint32_t>(k);
    if (lengths[k] <= options.length) {
      parts.push_back({record, 0, lengths[k]});
      continue;
    }
    const auto length = static_cast<uint32_t>(options.length);
    if (options.longer == PackOptions::Longer::kTruncate) parts.push_back({record, 0, length});
    if (options.longer != PackOptions::Longer::kSplit) continue;
    for (uint64_t first = 0; first < lengths[k]; first += length) {
      parts.push_back({record, static_cast<uint32_t>(first),
                       static_cast<uint32_t>(std::min<uint64_t>(length, lengths[k] - first))});
    }
  }
  return parts;
}

void AddRow(std::span<const PackPart> row, RecordPacks* packs) {
  packs->parts.insert(packs->parts.end(), row.begin(), row.end());
  packs->ends.push_back(static_cast<uint32_t>(packs->parts.size()));
}

// Packs the records [begin, end) by best fit decreasing.
void FitWindow(std::span<const uint32_t> lengths, size_t begin, size_t end, const PackOptions& options,
               RecordPacks* packs) {
  std::vector<PackPart> parts = WholeParts(lengths, begin, end, options);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PackPart& a, const PackPart& b) { return a.count > b.count; });
  std::vector<std::vector<PackPart>> rows;
  std::map<uint64_t, std::deque<size_t>> by_room;  // rows by the number of values that they lack, the oldest first
  for (const PackPart& part : parts) {
    uint64_t room = options.length;
    size_t row = rows.size();
    if (const auto found = by_room.lower_bound(part.count); found != by_room.end()) {
      room = found->first;
      row = found->second.front();
      found->second.pop_front();
      if (found->second.empty()) by_room.erase(found);
    } else {
      rows.emplace_back();
    }
    rows[row].push_back(part);
    by_room[room - part.count].push_back(row);
  }
  const auto is_before = [](const PackPart& a, const PackPart& b) {
    return a.record != b.record ? a.record < b.record : a.first < b.first;
  };
  for (std::vector<PackPart>& row : rows) std::sort(row.begin(), row.end(), is_before);
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return is_before(a[0], b[0]); });
  for (const std::vector<PackPart>& row : rows) AddRow(row, packs);
}

// Packs the shuffled records [begin, end), and cuts them at the end of each row.
void CutWindow(std::span<const uint32_t> lengths, size_t begin, size_t end, const PackOptions& options,
               RecordPacks* packs) {
  const Permutation shuffle(end - begin, HashWords({kShuffleDomain, begin}));
  std::vector<PackPart> row;
  uint64_t filled = 0, added = 0;  // values of the row; those that no earlier row has
  const auto end_row = [&] {
    AddRow(row, packs);
    uint64_t kept = 0;
    std::vector<PackPart> next;
    while (kept < options.overlap) {
      PackPart part = row.back();
      row.pop_back();
      const auto taken = static_cast<uint32_t>(std::min<uint64_t>(part.count, options.overlap - kept));
      part.first += part.count - taken;
      part.count = taken;
      kept += taken;
      if (taken > 0) next.insert(next.begin(), part);
    }
    row = std::move(next);
    filled = kept;
    added = 0;
  };
  for (uint64_t i = 0; i < end - begin; ++i) {
    const size_t record = begin + shuffle.Permute(i);
    uint64_t first = 0;
    do {
      if (filled == options.length) end_row();
      const uint64_t count = std::min<uint64_t>(lengths[record] - first, options.length - filled);
      row.push_back({static_cast<uint32_t>(record), static_cast<uint32_t>(first), static_cast<uint32_t>(count)});
      filled += count;
      added += std::max<uint64_t>(count, 1);  // a record without values counts too
      first += count;
    } while (first < lengths[record]);
  }
  if (added > 0) AddRow(row, packs);
}

}  // namespace

absl::StatusOr<RecordPacks> PackRecords(std::span<const uint32_t> lengths, const PackOptions& options) {
  RecordPacks packs;
  for (size_t begin = 0; begin < lengths.size(); begin += options.window) {
    const size_t end = begin + std::min<uint64_t>(options.window, lengths.size() - begin);
    if (options.concatenate) {
      CutWindow(lengths, begin, end, options, &packs);
    } else {
      FitWindow(lengths, begin, end, options, &packs);
    }
    PS_RETURN_IF_ERROR(CheckParts(packs.parts.size()));
  }
  return packs;
}

}  // namespace penstock::plan
