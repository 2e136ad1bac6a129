#include "server/worker/link/load_meter.h"

#include <algorithm>

namespace penstock::worker {
namespace {

constexpr Nanos kRateWindow = 5 * kSecond;
constexpr Nanos kOwingWindow = 3 * kSecond;
constexpr Nanos kCapacityWindow = 2 * kSecond;
constexpr Nanos kLongest = 60 * kSecond;
constexpr uint64_t kCapacityRows = 50;
constexpr double kCapacityBusy = 0.5;
// Heartbeats at shorter intervals are not kept, so the deque stays small at any interval.
constexpr Nanos kPointInterval = 100 * kMillisecond;

// Adds nothing for a cache that is off and that only an operator is able to enable.
void AddCache(v1::CacheLoad::Of of, const cache::CacheStats& cache, v1::WorkerLoad* load) {
  if (!cache.chosen && cache.limit == 0 && cache.hits + cache.misses == 0) return;
  v1::CacheLoad* const out = load->add_caches();
  out->set_of(of);
  out->set_bytes(cache.bytes);
  out->set_limit(cache.limit);
  out->set_hits(cache.hits);
  out->set_misses(cache.misses);
  out->set_served_bytes(cache.served_bytes);
  out->set_saved_seconds(cache.saved_seconds);
  out->set_chosen(cache.chosen);
}

double Seconds(Nanos time) { return static_cast<double>(time) / kSecond; }

}  // namespace

const LoadMeter::Point& LoadMeter::Before(Nanos when) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), when,
                                      [](Nanos at, const Point& point) { return at < point.at; });
  return after == points_.begin() ? *after : *(after - 1);
}

void LoadMeter::MeasureCapacity(const Point& last) {
  // From the shortest period to the longest.
  for (auto point = points_.rbegin(); point != points_.rend(); ++point) {
    const double busy = last.busy - point->busy;
    const uint64_t rows = last.rows - point->rows;
    const bool oldest = point + 1 == points_.rend() && last.at - point->at >= kLongest - kSecond;
    if (!oldest && (last.at - point->at < kCapacityWindow || rows < kCapacityRows)) continue;
    if (busy < kCapacityBusy) continue;
    // A worker that makes no rows differs from a worker of unknown capacity, which is 0.
    capacity_ = std::max(static_cast<double>(rows), 0.1) / busy;
    return;
  }
}

v1::WorkerLoad LoadMeter::Measure(const loader::LoaderStats& stats, uint64_t bytes_sent, uint32_t sessions, Nanos now) {
  v1::WorkerLoad load;
  load.set_rows(stats.rows);
  load.set_bytes_read(stats.bytes_read);
  load.set_bytes_sent(bytes_sent);
  load.set_remote_requests(stats.remote_requests);
  load.set_remote_bytes(stats.remote_bytes);
  load.set_remote_used_bytes(stats.remote_used_bytes);
  load.set_remote_hedges(stats.remote_hedges);
  load.set_cpu_seconds(stats.cpu_seconds);
  load.set_memory_bytes(stats.memory_bytes);
  load.set_record_cache_bytes(stats.record_cache.bytes);
  load.set_record_cache_hits(stats.record_cache.hits);
  load.set_record_cache_misses(stats.record_cache.misses);
  load.set_decoded_cache_bytes(stats.decoded_cache.bytes);
  load.set_row_cache_bytes(stats.row_cache.bytes);
  load.set_row_cache_hits(stats.row_cache.hits);
  load.set_row_cache_misses(stats.row_cache.misses);
  load.set_disk_cache_bytes(stats.disk_cache.bytes);
  load.set_disk_cache_limit(stats.disk_cache.limit);
  load.set_disk_cache_hits(stats.disk_cache.hits);
  load.set_disk_cache_misses(stats.disk_cache.misses);
  load.set_disk_cache_saved_seconds(stats.disk_cache.saved_seconds);
  AddCache(v1::CacheLoad::RECORDS, stats.record_cache, &load);
  AddCache(v1::CacheLoad::DECODED_IMAGES, stats.decoded_cache, &load);
  AddCache(v1::CacheLoad::FINISHED_ROWS, stats.row_cache, &load);
  AddCache(v1::CacheLoad::RECORDS_ON_DISK, stats.disk_cache, &load);
  load.set_sessions(sessions);

  const Point last{now, stats.rows, stats.busy_seconds, stats.owing_seconds};
  if (points_.empty() || now - points_.back().at >= kPointInterval) points_.push_back(last);
  while (points_.size() > 2 && points_[1].at <= now - kLongest) points_.pop_front();
  if (const Point& then = Before(now - kRateWindow); now > then.at) {
    load.set_rows_per_second(static_cast<double>(last.rows - then.rows) / Seconds(now - then.at));
  }
  if (const Point& then = Before(now - kOwingWindow); now > then.at) {
    load.set_owing_fraction(std::clamp((last.owing - then.owing) / Seconds(now - then.at), 0.0, 1.0));
  }
  MeasureCapacity(last);
  load.set_capacity(capacity_);
  return load;
}

}  // namespace penstock::worker
