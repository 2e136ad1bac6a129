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

// Limit of the parts of a file. Making them takes up to about 100 bytes in memory for each.
constexpr size_t kMostParts = size_t{1} << 27;

absl::Status CheckParts(size_t parts) {
  if (parts <= kMostParts) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("its records are packed in more than ", kMostParts,
                                                   " parts; give a greater pack.length or a smaller overlap, or make "
                                                   "smaller files"));
}

// Returns the parts of the records [begin, end) that no row shall divide further.
absl::StatusOr<std::vector<PackPart>> WholeParts(std::span<const uint32_t> lengths, size_t begin, size_t end,
                                                 const PackOptions& options) {
  std::vector<PackPart> parts;
  for (size_t k = begin; k < end; ++k) {
    const auto record = static_cast<uint32_t>(k);
    if (lengths[k] <= options.length) {
      parts.push_back({record, 0, lengths[k]});
      continue;
    }
    const auto length = static_cast<uint32_t>(options.length);
    if (options.longer == PackOptions::Longer::kKeepFirst) parts.push_back({record, 0, length});
    if (options.longer == PackOptions::Longer::kKeepLast) parts.push_back({record, lengths[k] - length, length});
    if (options.longer != PackOptions::Longer::kSplit) continue;
    PS_RETURN_IF_ERROR(CheckParts(parts.size() + lengths[k] / length));
    for (uint64_t first = 0; first < lengths[k]; first += length) {
      parts.push_back({record, static_cast<uint32_t>(first),
                       static_cast<uint32_t>(std::min<uint64_t>(length, lengths[k] - first))});
    }
  }
  return parts;
}

absl::Status AddRow(std::span<const PackPart> row, RecordPacks* packs) {
  packs->parts.insert(packs->parts.end(), row.begin(), row.end());
  packs->ends.push_back(static_cast<uint32_t>(packs->parts.size()));
  return CheckParts(packs->parts.size());
}

// Packs the records [begin, end) by best fit decreasing.
absl::Status FitWindow(std::span<const uint32_t> lengths, size_t begin, size_t end, const PackOptions& options,
                       RecordPacks* packs) {
  PS_ASSIGN_OR_RETURN(std::vector<PackPart> parts, WholeParts(lengths, begin, end, options));
  std::stable_sort(parts.begin(), parts.end(), [](const PackPart& a, const PackPart& b) { return a.count > b.count; });
  std::vector<std::vector<PackPart>> rows;
  std::map<uint64_t, std::deque<size_t>> by_room;  // rows by the number of values that they lack, the oldest first
  for (const PackPart& part : parts) {
    const uint64_t taken = (part.count + options.align - 1) / options.align * options.align;
    uint64_t room = options.length;
    size_t row = rows.size();
    if (const auto found = by_room.lower_bound(taken); found != by_room.end()) {
      room = found->first;
      row = found->second.front();
      found->second.pop_front();
      if (found->second.empty()) by_room.erase(found);
    } else {
      rows.emplace_back();
    }
    rows[row].push_back(part);
    by_room[room - taken].push_back(row);
  }
  const auto is_before = [](const PackPart& a, const PackPart& b) {
    return a.record != b.record ? a.record < b.record : a.first < b.first;
  };
  for (std::vector<PackPart>& row : rows) std::sort(row.begin(), row.end(), is_before);
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return is_before(a[0], b[0]); });
  for (const std::vector<PackPart>& row : rows) PS_RETURN_IF_ERROR(AddRow(row, packs));
  return absl::OkStatus();
}

// Returns the parts with the last `values` values of a row, which has as many.
std::vector<PackPart> LastValues(std::span<const PackPart> row, uint64_t values) {
  std::vector<PackPart> last;
  for (size_t i = row.size(); values > 0; --i) {
    PackPart part = row[i - 1];
    const auto taken = static_cast<uint32_t>(std::min<uint64_t>(part.count, values));
    part.first += part.count - taken;
    part.count = taken;
    values -= taken;
    if (taken > 0) last.push_back(part);
  }
  std::reverse(last.begin(), last.end());
  return last;
}

// Packs the shuffled records [begin, end), and cuts them at the end of each row.
absl::Status CutWindow(std::span<const uint32_t> lengths, size_t begin, size_t end, const PackOptions& options,
                       RecordPacks* packs) {
  uint64_t values = 0;
  for (size_t k = begin; k < end; ++k) values += lengths[k];
  PS_RETURN_IF_ERROR(CheckParts(packs->parts.size() + values / (options.length - options.overlap)));
  const Permutation shuffle(end - begin, HashWords({kShuffleDomain, begin}));
  std::vector<PackPart> row;
  uint64_t filled = 0;  // values of the row
  for (uint64_t i = 0; i < end - begin; ++i) {
    const auto record = static_cast<uint32_t>(begin + shuffle.Permute(i));
    for (uint64_t first = 0;;) {
      if (filled == options.length && first < lengths[record]) {
        PS_RETURN_IF_ERROR(AddRow(row, packs));
        row = LastValues(row, options.overlap);
        filled = options.overlap;
      }
      const uint64_t count = std::min<uint64_t>(lengths[record] - first, options.length - filled);
      // A row that begins with the last values of this record has them in one part with these.
      if (first > 0 && !row.empty()) {
        row.back().count += static_cast<uint32_t>(count);
      } else {
        row.push_back({record, static_cast<uint32_t>(first), static_cast<uint32_t>(count)});
      }
      filled += count;
      first += count;
      if (first >= lengths[record]) break;
    }
  }
  return row.empty() ? absl::OkStatus() : AddRow(row, packs);
}

}  // namespace

absl::StatusOr<RecordPacks> PackRecords(std::span<const uint32_t> lengths, const PackOptions& options) {
  RecordPacks packs;
  for (size_t begin = 0; begin < lengths.size(); begin += options.window) {
    const size_t end = begin + std::min<uint64_t>(options.window, lengths.size() - begin);
    PS_RETURN_IF_ERROR(options.concatenate ? CutWindow(lengths, begin, end, options, &packs)
                                           : FitWindow(lengths, begin, end, options, &packs));
  }
  return packs;
}

}  // namespace penstock::plan
