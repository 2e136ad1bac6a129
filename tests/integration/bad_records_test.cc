// Bad records on real processes: where they are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using testing::HasSubstr;

constexpr int kTextRecord = 3, kCutRecord = 5, kCrcRecord = 7, kLabelRecord = 11;

// One shard of 16 records, 4 of them bad, each in another way.
class BadRecordsTest : public ::testing::Test {
 protected:
  BadRecordsTest() : dataset_(support::MakeImageDataset({.shards = 2, .records_per_shard = 16}, folder_.path())) {
    v1::JobSpec& job = dataset_.job;
    job.mutable_errors()->set_policy(v1::MASK);
    job.mutable_errors()->set_max_bad_fraction(0.5F);
    std::vector<std::string> records;
    {
      std::string bytes = *ReadWholeFile(dataset_.files[0]);
      for (size_t at = 0; at < bytes.size();) {
        uint64_t length = 0;
        std::memcpy(&length, bytes.data() + at, 8);
        records.push_back(bytes.substr(at + 12, length));
        at += 16 + length;
      }
    }
    const std::string text = "this is a text, no image";
    records[kTextRecord] =
        records::ExampleBuilder().Bytes("image/encoded", text).Int64("image/class/label", 1).Serialize();
    const std::string jpeg = image::MakeJpeg({.width = 80, .height = 60});
    records[kCutRecord] =
        records::ExampleBuilder().Bytes("image/encoded", jpeg.substr(0, 900)).Int64("image/class/label", 1).Serialize();
    records[kLabelRecord] = records::ExampleBuilder().Bytes("image/encoded", text).Serialize();
    auto writer = sources::TFRecordWriter::Open(storage::LocalFiles(), dataset_.files[0]);
    EXPECT_TRUE(writer.ok());
    for (const std::string& record : records) EXPECT_TRUE((*writer)->Write(record).ok());
    EXPECT_TRUE((*writer)->Close().ok());
    support::BreakRecord(dataset_.files[0], kCrcRecord);
  }

  // Returns the output of `penstock quarantine`.
  std::string Command(const std::string& address, const std::string& flags) {
    const std::string out = folder_.path() + "/printed";
    EXPECT_EQ(std::system(absl::StrCat("'", PENSTOCK, "' quarantine ", dataset_.job.name(), " --coordinator ", address,
                                       " ", flags, " >'", out, "'")
                              .c_str()),
              0);
    return *ReadWholeFile(out);
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(BadRecordsTest, AreLoggedOnceAndListedWithReasonsAcrossEpochsRanksAndARestart) {
  support::ProcessClusterOptions options;
  options.worker_flags = {"--memory-budget", "64MiB", "--log-json"};
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  for (uint32_t rank = 0; rank < 2; ++rank) {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 3;
    plan.options.rank = rank;
    plan.options.world_size = 2;
    const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  }
  // Workers report records at most 200 ms after they made the rows.
  EXPECT_TRUE(support::WaitUntil([&] { return cluster.control().Quarantine(dataset_.job.name()).bad_records() == 4; }))
      << cluster.Logs();
  const v1::QuarantineReply reply = cluster.control().Quarantine(dataset_.job.name());
  ASSERT_EQ(reply.entries_size(), 4);
  const std::map<uint64_t, std::string> reasons = {{kTextRecord, "no image"},
                                                   {kCutRecord, "truncated image"},
                                                   {kCrcRecord, "wrong CRC"},
                                                   {kLabelRecord, "missing feature"}};
  for (const v1::QuarantineReply::Entry& entry : reply.entries()) {
    EXPECT_EQ(entry.path(), "data-00000");
    ASSERT_TRUE(reasons.contains(entry.record())) << entry.record();
    EXPECT_EQ(entry.reason(), reasons.at(entry.record())) << entry.message();
    EXPECT_GT(entry.offset(), 0u);
    EXPECT_FALSE(absl::StrContains(entry.message(), "record ")) << "the place stands beside it: " << entry.message();
  }
  EXPECT_EQ(cluster.control().Status()->jobs(0).bad_reasons_size(), 4);
  const std::string text = Command(cluster.address(), ""), json = Command(cluster.address(), "--json");
  EXPECT_THAT(text, HasSubstr("4 of the 32 records of job 'images' are bad: "));
  EXPECT_THAT(text, HasSubstr("1 truncated image"));
  EXPECT_THAT(json, HasSubstr("\"bad_records\": 4"));
  EXPECT_THAT(json, HasSubstr("\"reason\": \"truncated image\", \"message\": "));
  EXPECT_THAT(json, HasSubstr("\"path\": \"data-00000\", \"record\": 5, \"offset\": "));

  // The workers' logs have each record once, and every line is JSON: no decoder writes lines by itself.
  int named = 0;
  bool coordinator = false;
  for (const absl::string_view line : absl::StrSplit(cluster.Logs(), '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "---- process ")) coordinator = line == "---- process 0";
    if (absl::StartsWith(line, "---- process ") || coordinator) continue;
    if (absl::StartsWith(line, "penstockd worker ready on ")) continue;  // on standard output
    EXPECT_TRUE(absl::StartsWith(line, "{\"time\":")) << line;
    if (absl::StrContains(line, "a bad record")) {
      ++named;
      EXPECT_TRUE(absl::StrContains(line, "data-00000, record ")) << line;
      EXPECT_TRUE(absl::StrContains(line, " at offset ")) << line;
      EXPECT_TRUE(absl::StrContains(line, "\"job\":\"images\"")) << line;
    }
  }
  EXPECT_EQ(named, 4) << cluster.Logs();

  cluster.RestartCoordinator();
  EXPECT_TRUE(support::WaitUntil([&] { return cluster.control().Status().ok(); }));
  EXPECT_EQ(cluster.control().Quarantine(dataset_.job.name()).SerializeAsString(), reply.SerializeAsString());
  ASSERT_TRUE(cluster.control().Submit(dataset_.job, /*replace=*/true).ok());
  EXPECT_EQ(cluster.control().Quarantine(dataset_.job.name()).bad_records(), 0u);
}

}  // namespace
}  // namespace penstock::integration
