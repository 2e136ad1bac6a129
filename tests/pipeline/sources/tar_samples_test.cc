// Samples of recorded archives, whole and cut off, as the webdataset package reads them (tar/make_archives.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/tar/sample_name.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

struct RecordedCase {
  std::string archive;
  size_t bytes = 0;  // the archive is cut off after these
  bool error = false;
  std::vector<std::string> samples;
};

std::vector<RecordedCase> RecordedCases() {
  std::istringstream lines(RecordedTar("samples.txt"));
  std::vector<RecordedCase> cases;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    RecordedCase& recorded = cases.emplace_back();
    std::string outcome;
    words >> recorded.archive >> recorded.bytes >> outcome;
    recorded.error = outcome == "error";
    for (std::string sample; words >> sample;) recorded.samples.push_back(sample);
  }
  return cases;
}

// Returns the samples of an archive as samples.txt has them.
std::vector<std::string> SamplesOf(const RandomAccessFile& file, bool* broken) {
  std::vector<std::string> samples;
  auto walker = RecordWalker::Start(&file, {});
  EXPECT_TRUE(walker.ok()) << walker.status();
  std::string data;
  for (;;) {
    const auto step = (*walker)->Next(&data);
    EXPECT_TRUE(step.ok()) << step.status();
    if (!step.ok() || *step != RecordWalker::Step::kRecord) {
      *broken = !step.ok() || *step == RecordWalker::Step::kBroken;
      return samples;
    }
    std::string& sample = samples.emplace_back();
    EXPECT_TRUE(ForEachSampleMember(data, [&](const SampleName& name, std::string_view content) {
                  absl::StrAppend(&sample, sample.empty() ? std::string(name.key) + ":" : ",", name.extension, "=",
                                  content.size());
                  return absl::OkStatus();
                }).ok());
  }
}

TEST(TarSamples, EqualThoseOfTheWebdatasetPackage) {
  size_t whole = 0;
  for (const RecordedCase& recorded : RecordedCases()) {
    const std::string bytes = RecordedTar(recorded.archive);
    if (bytes.size() != recorded.bytes) continue;
    ++whole;
    bool broken = false;
    EXPECT_EQ(SamplesOf(MemoryFile(bytes), &broken), recorded.samples) << recorded.archive;
    EXPECT_FALSE(broken || recorded.error) << recorded.archive;
  }
  EXPECT_EQ(whole, 10u);
}

// The package misses damage in two places. It treats a truncated header as the end of the archive. It also keeps
// the last sample, although the header may be that of a further member of the sample.
TEST(TarSamples, OfATruncatedArchiveEqualThoseOfThePackageAndReportDamage) {
  size_t in_headers = 0, in_data = 0, between = 0;
  for (const RecordedCase& recorded : RecordedCases()) {
    const std::string bytes = RecordedTar(recorded.archive);
    if (bytes.size() == recorded.bytes) continue;
    SCOPED_TRACE(absl::StrCat(recorded.archive, " cut off after ", recorded.bytes));
    bool broken = false;
    const std::vector<std::string> samples = SamplesOf(MemoryFile(bytes.substr(0, recorded.bytes)), &broken);
    const bool has_end_mark = recorded.bytes >= bytes.size() - 512;
    ASSERT_LE(samples.size(), recorded.samples.size() + 1);
    for (size_t i = 0; i < std::min(samples.size(), recorded.samples.size()); ++i) {
      EXPECT_EQ(samples[i], recorded.samples[i]);
    }
    if (recorded.error) {  // the package keeps a sample back until it has read a member of the next one
      ++in_data;
      EXPECT_TRUE(broken);
      EXPECT_GE(samples.size(), recorded.samples.size());
    } else if (recorded.bytes % 512 == 0 || has_end_mark) {
      ++between;
      EXPECT_FALSE(broken);
      EXPECT_EQ(samples, recorded.samples);
    } else {
      ++in_headers;
      EXPECT_TRUE(broken);
      EXPECT_EQ(samples.size() + 1, recorded.samples.size());
    }
  }
  EXPECT_GT(in_headers, 10u);
  EXPECT_GT(in_data, 10u);
  EXPECT_GT(between, 5u);
}

}  // namespace
}  // namespace penstock::sources
