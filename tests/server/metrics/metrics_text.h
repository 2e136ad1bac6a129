// Reads the text format of Prometheus, and checks the rules for it.
#ifndef PENSTOCK_TESTS_SERVER_METRICS_METRICS_TEXT_H_
#define PENSTOCK_TESTS_SERVER_METRICS_METRICS_TEXT_H_

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/metrics/metric_table.h"

namespace penstock::server {

class MetricsText {
 public:
  // Parses the text. Each fault of its form is a failure of the test: a series without HELP or TYPE before it, a series
  // or a family that occurs twice, a counter without _total, a name that the table lacks.
  explicit MetricsText(const std::string& text) { Parse(text); }

  bool Has(const std::string& series) const { return values_.contains(series); }
  // Returns the value of a series such as `penstock_jobs{state="ready"}`, or fails.
  double Value(const std::string& series) const {
    const auto found = values_.find(series);
    EXPECT_NE(found, values_.end()) << "no series " << series;
    return found == values_.end() ? -1 : found->second;
  }
  size_t series() const { return values_.size(); }
  const std::map<std::string, double>& values() const { return values_; }
  const std::set<std::string>& families() const { return families_; }

 private:
  void Parse(const std::string& text) {
    std::set<std::string> families;
    std::string family, type;
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (const std::string& line : lines) {
      if (line.empty()) continue;
      const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
      if (line[0] == '#') {
        ASSERT_GE(words.size(), 4u) << line;
        if (words[1] == "HELP") {
          family = words[2];
          EXPECT_TRUE(families.insert(family).second) << family << " is there twice";
          EXPECT_FALSE(words[3].empty()) << family;
        } else {
          EXPECT_EQ(words[1], "TYPE") << line;
          EXPECT_EQ(words[2], family) << line;
          type = words[3];
          EXPECT_EQ(absl::EndsWith(family, "_total"), type == "counter") << family;
        }
        continue;
      }
      const size_t end = line.rfind(' ');
      ASSERT_NE(end, std::string::npos) << line;
      const std::string series = line.substr(0, end);
      std::string name = series.substr(0, series.find('{'));
      if (type == "histogram") {
        for (const char* suffix : {"_bucket", "_sum", "_count"}) {
          if (absl::EndsWith(name, suffix)) name = std::string(absl::StripSuffix(name, suffix));
        }
      }
      EXPECT_EQ(name, family) << "series " << series << " is not below its HELP";
      double value = 0;
      EXPECT_TRUE(absl::SimpleAtod(line.substr(end + 1), &value)) << line;
      EXPECT_TRUE(values_.emplace(series, value).second) << series << " is there twice";
    }
    for (const std::string& name : families) {
      EXPECT_TRUE(Known(name)) << name;
      families_.insert(name);
    }
  }

  static bool Known(const std::string& name) {
    for (const MetricInfo& info : MetricTable()) {
      if (info.name == name) return true;
    }
    return false;
  }

  std::map<std::string, double> values_;
  std::set<std::string> families_;
};

// Expects that the text has each metric of `owner` in the table, except those in `absent`, and no other.
inline void ExpectAllOf(MetricOwner owner, const MetricsText& text, const std::set<std::string>& absent = {}) {
  for (const MetricInfo& info : MetricTable()) {
    const std::string name(info.name);
    const bool expected = info.owner() == owner && !absent.contains(name);
    EXPECT_EQ(text.families().contains(name), expected) << name;
  }
}

}  // namespace penstock::server

#endif  // PENSTOCK_TESTS_SERVER_METRICS_METRICS_TEXT_H_
