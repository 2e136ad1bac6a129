#include "server/worker/link/load_meter.h"

namespace penstock {
namespace {

constexpr Nanos kWindow = 5 * kSecond;
constexpr uint64_t kCapacityRows = 200;
constexpr double kCapacityCpu = 0.5;

}  // namespace

v1::WorkerLoad LoadMeter::Measure(const LoaderStats& stats, uint64_t bytes_sent, uint32_t sessions, Nanos now) {
  v1::WorkerLoad load;
  load.set_rows(stats.rows);
  load.set_bytes_read(stats.bytes_read);
  load.set_bytes_sent(bytes_sent);
  load.set_cpu_seconds(stats.cpu_seconds);
  load.set_memory_bytes(stats.memory_bytes);
  load.set_record_cache_bytes(stats.record_cache_bytes);
  load.set_record_cache_hits(stats.record_cache_hits);
  load.set_record_cache_misses(stats.record_cache_misses);
  load.set_decoded_cache_bytes(stats.decoded_cache_bytes);
  load.set_sessions(sessions);

  points_.push_back({now, stats.rows});
  while (points_.size() > 2 && points_[1].at <= now - kWindow) points_.pop_front();
  const Nanos span = now - points_.front().at;
  if (span > 0) {
    load.set_rows_per_second(static_cast<double>(stats.rows - points_.front().rows) * static_cast<double>(kSecond) /
                             static_cast<double>(span));
  }
  const uint64_t rows = stats.rows - capacity_rows_;
  const double cpu = stats.cpu_seconds - capacity_cpu_;
  if (rows >= kCapacityRows && cpu >= kCapacityCpu) {
    const double measured = static_cast<double>(rows) / cpu;
    capacity_ = capacity_ == 0 ? measured : 0.7 * capacity_ + 0.3 * measured;
    capacity_rows_ = stats.rows;
    capacity_cpu_ = stats.cpu_seconds;
  }
  load.set_rows_per_cpu_second(capacity_);
  return load;
}

}  // namespace penstock
