#include "pipeline/plan/value_bins.h"

#include <charconv>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/ordered_key.h"
#include "pipeline/plan/batch_limits.h"

namespace penstock::plan {
namespace {

// The length of a bin's number in its name. It keeps the names ascending.
constexpr size_t kNumberDigits = 5;
static_assert(RecordGroups::kMaxGroups < 100'000);

std::string NameOf(size_t bin, std::string_view first, std::string_view last) {
  return absl::StrCat(absl::Dec(bin, absl::kZeroPad5), " ", OrderedKeyText(first), first == last ? "" : " to ",
                      first == last ? "" : OrderedKeyText(last));
}

}  // namespace

ValueBins MakeBins(std::span<const std::string> values, std::span<const uint64_t> records, const BinRule& rule) {
  const uint32_t bins = rule.bins;
  const auto total = std::accumulate(records.begin(), records.end(), static_cast<unsigned __int128>(0));
  ValueBins out;
  unsigned __int128 before = 0;  // records with lesser values
  uint64_t quantile = 0;         // quantile or bucket of the last bin
  size_t first = 0;              // first value of the last bin
  for (size_t i = 0; i < values.size(); ++i) {
    // The quantile of the middle one of the value's records, or the bucket.
    const auto now = rule.bounds.empty() ? static_cast<uint64_t>((before + records[i] / 2) * bins / total)
                                         : BucketOf(OrderedKeyNumber(values[i]).value_or(-HUGE_VAL), rule.bounds);
    const bool is_alone = rule.bounds.empty() && bins == 0;
    if (i > 0 && (is_alone || now != quantile)) {
      out.names.push_back(NameOf(out.names.size(), values[first], values[i - 1]));
      first = i;
    }
    quantile = now;
    out.of_value.push_back(static_cast<uint32_t>(out.names.size()));
    before += records[i];
  }
  if (!values.empty()) out.names.push_back(NameOf(out.names.size(), values[first], values.back()));
  return out;
}

void AddRecords(const ShardGroups& shard, std::vector<uint64_t>* records) {
  for (size_t i = 0; i < shard.groups.size(); ++i) (*records)[shard.groups[i]] += shard.records[i];
}

void MergeIntoBins(const ValueBins& bins, ShardGroups* shard) {
  size_t size = 0;  // bins so far
  for (size_t i = 0; i < shard->groups.size(); ++i) {
    const uint32_t bin = bins.of_value[shard->groups[i]];
    if (size > 0 && shard->groups[size - 1] == bin) {
      shard->records[size - 1] += shard->records[i];
      continue;
    }
    shard->groups[size] = bin;
    shard->records[size++] = shard->records[i];
  }
  shard->groups.resize(size);
  shard->records.resize(size);
}

std::string_view BinText(std::string_view name) {
  return name.size() > kNumberDigits ? name.substr(kNumberDigits + 1) : name;
}

std::optional<double> GreatestOfBin(std::string_view name) {
  constexpr std::string_view kTo = " to ";
  std::string_view text = BinText(name);
  if (const size_t to = text.rfind(kTo); to != std::string_view::npos) text.remove_prefix(to + kTo.size());
  double value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool AreSumsOf(std::span<const uint32_t> merged, std::span<const uint32_t> counts) {
  size_t next = 0;
  for (const uint32_t sum : merged) {
    uint64_t records = 0;
    while (records < sum && next < counts.size()) records += counts[next++];
    if (records != sum) return false;
  }
  return next == counts.size();
}

}  // namespace penstock::plan
