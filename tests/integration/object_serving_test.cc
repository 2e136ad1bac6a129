// Rows of shards in a bucket equal those of local files, also if the storage fails meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "pipeline/storage/files.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

// An S3 server. The storages of the process use it from the first object name on.
struct Store {
  Store() {
    setenv("AWS_ENDPOINT_URL_S3", server.url().c_str(), 1);
    setenv("AWS_ACCESS_KEY_ID", "id", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  }
  support::FakeS3 s3;
  Mutex mutex;
  std::function<std::optional<support::ServedAnswer>(const support::ServedRequest&)> fault ABSL_GUARDED_BY(mutex);
  support::HttpServer server{[this](const support::ServedRequest& request) {
    std::function<std::optional<support::ServedAnswer>(const support::ServedRequest&)> now;
    {
      MutexLock lock(&mutex);
      now = fault;
    }
    if (now) {
      if (auto answer = now(request)) return *std::move(answer);
    }
    return s3(request);
  }};
};

class ObjectServingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (store == nullptr) store = new Store;
  }
  ObjectServingTest() : dataset_(support::MakeImageDataset({.shards = 5, .records_per_shard = 40}, folder_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
    dataset_.job.mutable_batch()->set_last(v1::PAD);
    expected_ = support::PlainDigest(dataset_, dataset_.job, 2);
    Fault(nullptr);
    for (const std::string& file : dataset_.files) Put(file, file);
    remote_ = dataset_;
    remote_.roots = sources::ParseDataRoots(files_, {"data=s3://bucket/set"}).value();
    remote_.job.mutable_dataset(0)->clear_files();
    remote_.job.mutable_dataset(0)->add_files("data-*");
  }
  void TearDown() override { Fault(nullptr); }

  static std::string KeyOf(const std::string& file) { return "set/" + std::filesystem::path(file).filename().string(); }
  static void Put(const std::string& file, const std::string& content_of) {
    store->s3.Put("bucket", KeyOf(file), ReadWholeFile(content_of).value());
  }
  static void Fault(std::function<std::optional<support::ServedAnswer>(const support::ServedRequest&)> fault) {
    MutexLock lock(&store->mutex);
    store->fault = std::move(fault);
  }
  support::ReadPlan Plan(uint64_t epochs) const { return support::EpochsOf(dataset_.job, epochs); }

  static inline Store* store = nullptr;
  support::TempFolder folder_;
  storage::Storage* const files_ = storage::AnyFiles();
  support::TestDataset dataset_, remote_;
  std::string expected_;
};

// Each record is then read by itself.
TEST_F(ObjectServingTest, GroupsOfABalanceAreReadFromObjects) {
  for (v1::JobSpec* job : {&dataset_.job, &remote_.job}) {
    v1::Balance* const balance = job->mutable_dataset(0)->add_select()->mutable_balance();
    balance->set_by("hash(col('image/encoded')) % 7");
  }
  EXPECT_EQ(support::PlainDigest(remote_, remote_.job, 2, files_), support::PlainDigest(dataset_, dataset_.job, 2));
}

TEST_F(ObjectServingTest, LocalAndServedRowsEqualThoseOfLocalFiles) {
  EXPECT_EQ(support::PlainDigest(remote_, remote_.job, 2, files_), expected_);
  support::ClusterOptions options;
  options.storage = files_;
  options.workers = 2;
  support::InProcessCluster cluster(options, remote_.roots);
  ASSERT_TRUE(cluster.control().Submit(remote_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(remote_.job.name(), 2));
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(2));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected_);
  EXPECT_TRUE(support::EveryRecordOncePerEpoch(result, dataset_.records, 2));
}

TEST_F(ObjectServingTest, AStorageThatFailsEveryThirdRequestChangesNoByte) {
  std::atomic<uint64_t> asked{0};
  Fault([&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    switch (HashWords({asked.fetch_add(1)}) % 9) {
      case 0:
        return support::S3Error(503, "SlowDown");
      case 1: {
        support::ServedAnswer cut = store->s3(request);
        cut.cut_after = cut.body.size() / 2;
        return cut;
      }
      case 2: {
        support::ServedAnswer other = store->s3(request);  // bytes of another range
        for (auto& [name, value] : other.headers) {
          if (name == "Content-Range") value = "bytes 1-2/3";
        }
        return other;
      }
      default:
        return std::nullopt;
    }
  });
  support::ClusterOptions options;
  options.storage = files_;
  options.workers = 2;
  options.record_cache_bytes = 0;
  support::InProcessCluster cluster(options, remote_.roots);
  ASSERT_TRUE(cluster.control().Submit(remote_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(remote_.job.name(), 2));
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(2));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected_);
  EXPECT_GT(asked.load(), 100u);
}

TEST_F(ObjectServingTest, TheSameContentUnderANewTagIsReadAndOtherContentIsNamed) {
  support::ClusterOptions options;
  options.storage = files_;
  options.record_cache_bytes = 0;
  support::InProcessCluster cluster(options, remote_.roots);
  ASSERT_TRUE(cluster.control().Submit(remote_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(remote_.job.name(), 1));
  ASSERT_TRUE(support::ReadThrough(cluster.address(), Plan(1)).status.ok());
  for (const std::string& file : dataset_.files) Put(file, file);
  const support::ReadResult again = support::ReadThrough(cluster.address(), Plan(2));
  ASSERT_TRUE(again.status.ok()) << again.status;
  EXPECT_EQ(again.digest, expected_);

  Put(dataset_.files[2], dataset_.files[1]);
  const support::ReadResult other = support::ReadThrough(cluster.address(), Plan(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status)) << other.status;
  EXPECT_THAT(std::string(other.status.message()), HasSubstr("s3://bucket/" + KeyOf(dataset_.files[2])));
}

}  // namespace
}  // namespace penstock::integration
