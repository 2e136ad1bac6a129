#include "server/metrics/metric_set.h"

#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

#include "base/check.h"

namespace penstock::server {
namespace {

prometheus::MetricType TypeOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      break;
  }
  return prometheus::MetricType::Histogram;
}

}  // namespace

MetricSet::MetricSet() {
  for (const MetricInfo& info : MetricTable()) {
    prometheus::MetricFamily& family = families_.emplace_back();
    family.name = std::string(info.name);
    family.help = std::string(info.help);
    family.type = TypeOf(info.type);
  }
}

prometheus::ClientMetric* MetricSet::AddSeries(Metric metric, std::initializer_list<std::string_view> labels) {
  const MetricInfo& info = InfoOf(metric);
  PS_CHECK(labels.size() == info.label_count());
  prometheus::ClientMetric& series = families_[static_cast<size_t>(metric)].metric.emplace_back();
  size_t i = 0;
  for (const std::string_view value : labels) {
    series.label.push_back({std::string(info.labels[i++]), std::string(value)});
  }
  return &series;
}

void MetricSet::Add(Metric metric, double value, std::initializer_list<std::string_view> labels) {
  const MetricType type = InfoOf(metric).type;
  PS_CHECK(type != MetricType::kHistogram);
  prometheus::ClientMetric* const series = AddSeries(metric, labels);
  (type == MetricType::kCounter ? series->counter.value : series->gauge.value) = value;
  ++series_;
}

void MetricSet::AddHistogram(Metric metric, std::span<const double> bounds, const HistogramValue& value,
                             std::initializer_list<std::string_view> labels) {
  PS_CHECK(InfoOf(metric).type == MetricType::kHistogram && value.counts.size() == bounds.size() + 1);
  prometheus::ClientMetric::Histogram& histogram = AddSeries(metric, labels)->histogram;
  uint64_t sum = 0;
  for (size_t i = 0; i < value.counts.size(); ++i) {
    sum += value.counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({sum, bound});
  }
  histogram.sample_count = sum;
  histogram.sample_sum = value.sum;
  series_ += value.counts.size() + 2;
}

std::vector<prometheus::MetricFamily> MetricSet::TakeFamilies() && {
  std::erase_if(families_, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  return std::move(families_);
}

std::string MetricSet::TakeText() && { return prometheus::TextSerializer().Serialize(std::move(*this).TakeFamilies()); }

}  // namespace penstock::server
