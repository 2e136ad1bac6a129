// Collects the series of a process and writes them in the text format of Prometheus.
#ifndef PENSTOCK_SERVER_METRICS_METRIC_SET_H_
#define PENSTOCK_SERVER_METRICS_METRIC_SET_H_

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/metrics/metric_table.h"

namespace penstock::server {

// A histogram of observations.
struct HistogramValue {
  std::vector<uint64_t> counts;  // observations between two bounds; the last count has no upper bound
  double sum = 0;                // sum of all observations
};

// Not thread-safe.
class MetricSet {
 public:
  MetricSet();

  // Adds a series of a counter or a gauge. `labels` are the values of the metric's labels, in the order of the table.
  // The caller must not add a series twice.
  void Add(Metric metric, double value, std::initializer_list<std::string_view> labels = {});
  void Add(Metric metric, uint64_t value, std::initializer_list<std::string_view> labels = {}) {
    Add(metric, static_cast<double>(value), labels);
  }
  // Adds a histogram. `bounds` are the upper bounds, ascending; `value` has one count more.
  void AddHistogram(Metric metric, std::span<const double> bounds, const HistogramValue& value,
                    std::initializer_list<std::string_view> labels);

  // Returns the number of series. Each bucket, sum and count of a histogram is one.
  size_t series() const { return series_; }

  // Returns the metrics that have series, in the order of the table.
  std::vector<prometheus::MetricFamily> TakeFamilies() &&;
  // Returns them in Prometheus' text format, version 0.0.4.
  std::string TakeText() &&;

 private:
  prometheus::ClientMetric* AddSeries(Metric metric, std::initializer_list<std::string_view> labels);

  std::vector<prometheus::MetricFamily> families_;  // one for each metric
  size_t series_ = 0;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_METRICS_METRIC_SET_H_
