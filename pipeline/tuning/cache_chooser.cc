#include "pipeline/tuning/cache_chooser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::tuning {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Margin for errors of mean sizes, so that an epoch's last records fit too.
constexpr double kSpareCache = 1.03;
// Additional margin, if no other cache needs the memory.
constexpr double kRoom = 0.125;
// Using all memory must make rows cheaper by at least this fraction.
constexpr double kPrice = 0.02;
// Number of fractions of the memory to try, besides exact fits.
constexpr uint64_t kParts = 16;
// Waits between changes. The wait doubles while the jobs stay the same.
constexpr Nanos kFirstChoicePause = 5 * kSecond, kLongestChoicePause = 640 * kSecond;
// The cache size for measuring decoded images, and the number of attempts.
constexpr uint64_t kProbeBytes = 64 * kMiB;
constexpr uint64_t kProbePart = 8;  // at most this fraction (1 / n) of all caches
constexpr int kProbes = 8;
// Assumed cost of copying a finished row relative to making it, until it is measured.
constexpr double kGuessedCopy = 0.05;

struct Demand {
  double records = 0, decoded = 0, rows = 0;  // bytes that are read again
};

bool Keeps(const CacheJob& job) { return job.same_rows && job.row_bytes > 0; }
bool Decodes(const CacheJob& job) { return job.decodes && job.decoded_bytes > 0 && job.from_decoded_seconds > 0; }

Demand DemandOf(const std::vector<CacheJob>& jobs) {
  Demand demand;
  std::map<uint64_t, double> records;  // by data
  for (const CacheJob& job : jobs) {
    if (!job.read_again) continue;
    double& of_data = records[job.data];
    of_data = std::max(of_data, kSpareCache * job.records * job.record_bytes);
    if (Decodes(job)) demand.decoded += kSpareCache * job.records * job.decoded_bytes;
    if (Keeps(job)) demand.rows += kSpareCache * job.records * job.row_bytes;
  }
  for (const auto& [data, bytes] : records) demand.records += bytes;
  return demand;
}

double Part(uint64_t size, double demand) { return demand > 0 ? std::min(1.0, static_cast<double>(size) / demand) : 0; }

double SecondsOf(const CacheJob& job, const Demand& demand, const CacheSizes& sizes) {
  const double read = job.read_again ? Part(sizes.records, demand.records) : 0;
  const double decoded = job.read_again && Decodes(job) ? Part(sizes.decoded, demand.decoded) : 0;
  const double kept = job.read_again && Keeps(job) ? Part(sizes.rows, demand.rows) : 0;
  const double from_decoded = std::min(job.from_decoded_seconds, job.from_record_seconds);
  const double made = (1 - read) * job.read_seconds + decoded * from_decoded + (1 - decoded) * job.from_record_seconds;
  const double copy = job.kept_seconds > 0 ? job.kept_seconds : kGuessedCopy * job.from_record_seconds;
  return (1 - kept) * made + kept * std::min(copy, made);
}

double Seconds(const std::vector<CacheJob>& jobs, const Demand& demand, const CacheSizes& sizes) {
  double rows = 0, seconds = 0;
  for (const CacheJob& job : jobs) {
    if (job.rows <= 0) continue;
    rows += job.rows;
    seconds += job.rows * SecondsOf(job, demand, sizes);
  }
  return rows > 0 ? seconds / rows : 0;
}

// Returns the candidate sizes of one cache in ascending order.
std::vector<uint64_t> Candidates(bool pinned, uint64_t now, uint64_t first, double demand, uint64_t most) {
  if (pinned) return {now};
  std::vector<uint64_t> sizes = {0, std::min(now, most), std::min(first, most)};
  for (uint64_t part = 1; part <= kParts; ++part) sizes.push_back(most / kParts * part);
  // A cache larger than its data has no benefit.
  const uint64_t enough = demand < static_cast<double>(most) ? static_cast<uint64_t>(std::ceil(demand)) : most;
  sizes.push_back(enough);
  std::erase_if(sizes, [&](uint64_t size) { return size > enough && size != now && size != first; });
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::string Mib(uint64_t bytes) { return absl::StrFormat("%d MiB", (bytes + kMiB / 2) / kMiB); }

void AddChange(const char* name, uint64_t from, uint64_t to, std::string* out) {
  if (Mib(from) == Mib(to)) return;
  absl::StrAppend(out, out->empty() ? "" : ", ", name, " ", from == 0 ? "0" : Mib(from), " -> ", Mib(to));
}

}  // namespace

double SecondsPerRow(const std::vector<CacheJob>& jobs, const CacheSizes& sizes) {
  return Seconds(jobs, DemandOf(jobs), sizes);
}

CacheSizes BestCacheSizes(const std::vector<CacheJob>& jobs, const CacheLimits& limits, const CacheSizes& now,
                          uint64_t most) {
  const Demand demand = DemandOf(jobs);
  const uint64_t pinned = (limits.records_pinned ? now.records : 0) + (limits.decoded_pinned ? now.decoded : 0) +
                          (limits.rows_pinned ? now.rows : 0);
  const uint64_t all = std::max(most, pinned), room = all - pinned;
  const CacheSizes& first = limits.first;
  const std::vector<uint64_t> all_records =
      Candidates(limits.records_pinned, now.records, first.records, demand.records, room);
  const std::vector<uint64_t> all_decoded =
      Candidates(limits.decoded_pinned, now.decoded, first.decoded, demand.decoded, room);
  std::vector<uint64_t> all_rows = Candidates(limits.rows_pinned, now.rows, first.rows, demand.rows, room);
  // Several readers of one job share rows and may start at any time, so this much is always reserved for them.
  const uint64_t least_rows = limits.rows_pinned ? 0 : std::min(first.rows, room);
  std::erase_if(all_rows, [least_rows](uint64_t size) { return size < least_rows; });
  const double unit = Seconds(jobs, demand, now) * kPrice / static_cast<double>(std::max<uint64_t>(1, most));
  const auto price = [&](const CacheSizes& sizes) {
    return Seconds(jobs, demand, sizes) + unit * static_cast<double>(sizes.sum());
  };
  std::optional<CacheSizes> best;
  double best_price = 0;
  const auto look = [&](const CacheSizes& sizes) {
    if (sizes.sum() > all) return;
    const double found = price(sizes);
    if (best.has_value() && found >= best_price * (1 - 1e-9)) return;
    best = sizes;
    best_price = found;
  };
  look(now);
  for (const uint64_t decoded : all_decoded) {
    for (const uint64_t rows : all_rows) {
      for (const uint64_t records : all_records) look({records, decoded, rows});
      // Gives the remaining memory to records.
      if (!limits.records_pinned && decoded + rows <= all) {
        const double left = std::min(static_cast<double>(all - decoded - rows), demand.records);
        look({static_cast<uint64_t>(left), decoded, rows});
      }
    }
  }
  CacheSizes sizes =
      best.value_or(CacheSizes{limits.records_pinned ? now.records : 0, limits.decoded_pinned ? now.decoded : 0,
                               limits.rows_pinned ? now.rows : least_rows});
  const auto add = [&sizes, all](uint64_t wanted, uint64_t* size) {
    const uint64_t left = all - std::min(all, sizes.sum());
    *size += std::min(left, wanted - std::min(wanted, *size));
  };
  // Memory that no cache needs stays with its current cache.
  if (!limits.records_pinned) add(now.records, &sizes.records);
  if (!limits.rows_pinned) add(now.rows, &sizes.rows);
  // A cache that holds all of its data gets room for entries larger than the measured mean.
  const auto spare = [&add](bool set, double needed, uint64_t* size) {
    const double more = needed * (1 + kRoom);
    if (!set && *size > 0 && static_cast<double>(*size) >= needed) add(static_cast<uint64_t>(more), size);
  };
  spare(limits.decoded_pinned, demand.decoded, &sizes.decoded);
  spare(limits.rows_pinned, demand.rows, &sizes.rows);
  spare(limits.records_pinned, demand.records, &sizes.records);
  return sizes;
}

std::optional<std::string> CacheChooser::TakeNews() { return std::exchange(news_, std::nullopt); }

std::optional<CacheSizes> CacheChooser::Probe(const std::vector<CacheJob>& jobs, const CacheSizes& now, uint64_t most) {
  if (limits_.decoded_pinned) return std::nullopt;
  for (const CacheJob& job : jobs) {
    if (!job.read_again || job.rows <= 0 || !job.decodes || Decodes(job) || probes_[job.id] >= kProbes) continue;
    ++probes_[job.id];
    CacheSizes to = now;
    to.decoded = std::max(now.decoded, std::min(kProbeBytes, most / kProbePart));
    if (to.sum() <= most) return to;
  }
  return std::nullopt;
}

CacheSizes CacheChooser::Change(const std::vector<CacheJob>& jobs, const CacheSizes& from, const CacheSizes& to,
                                Nanos time) {
  std::string changes;
  AddChange("record", from.records, to.records, &changes);
  AddChange("decoded", probing_ ? 0 : from.decoded, to.decoded, &changes);
  AddChange("row", from.rows, to.rows, &changes);
  probing_ = false;
  if (!changes.empty()) {
    news_ = absl::StrFormat("caches: %s: a row takes %.3g ms of a thread, %.3g when they have filled", changes,
                            1e3 * SecondsPerRow(jobs, from), 1e3 * SecondsPerRow(jobs, to));
  }
  pause_ = std::clamp(2 * pause_, kFirstChoicePause, kLongestChoicePause);
  not_before_ = time + pause_;
  jobs_.clear();
  for (const CacheJob& job : jobs) {
    if (job.rows > 0) jobs_.insert(job.id);
  }
  return to;
}

CacheSizes CacheChooser::Step(const std::vector<CacheJob>& jobs, const CacheSizes& now, uint64_t most, Nanos time) {
  if (limits_.all_pinned()) return now;
  most = std::max(most, limits_.first.sum());
  std::erase_if(probes_, [&jobs](const auto& probe) {
    return std::none_of(jobs.begin(), jobs.end(), [&probe](const CacheJob& job) { return job.id == probe.first; });
  });
  const auto there = [&jobs](uint64_t id) {
    return std::any_of(jobs.begin(), jobs.end(), [id](const CacheJob& job) { return job.id == id; });
  };
  if (!jobs_.empty() && std::none_of(jobs_.begin(), jobs_.end(), there)) {
    // All jobs that the sizes were chosen for have ended, so the choice starts again for the new jobs.
    jobs_.clear();
    pause_ = not_before_ = 0;
    probing_ = false;
    CacheSizes to = limits_.first;
    if (limits_.records_pinned) to.records = now.records;
    if (limits_.decoded_pinned) to.decoded = now.decoded;
    if (limits_.rows_pinned) to.rows = now.rows;
    return to;
  }
  if (now.sum() > most) return Change(jobs, now, BestCacheSizes(jobs, limits_, now, most), time);
  if (SecondsPerRow(jobs, now) <= 0) return now;
  if (const std::optional<CacheSizes> probe = Probe(jobs, now, most); probe.has_value()) {
    probing_ = probing_ || now.decoded == 0;
    return *probe;
  }
  // A cache that exists only for a measurement counts as absent unless the choice keeps it.
  CacheSizes before = now;
  if (probing_) before.decoded = 0;
  const CacheSizes best = BestCacheSizes(jobs, limits_, before, most);
  if (best != before && time >= not_before_ &&
      SecondsPerRow(jobs, best) * (1 + kClearGain) <= SecondsPerRow(jobs, before)) {
    return Change(jobs, now, best, time);
  }
  probing_ = false;
  return before;
}

}  // namespace penstock::tuning
