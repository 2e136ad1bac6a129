// Situations of docs/runbook.md about files, storage and jobs that end.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "tests/faults/runbook/testing.h"
#include "tests/support/hanging_files/hanging_files.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

class RunbookDataTest : public RunbookTest {};

TEST_F(RunbookDataTest, AJobStaysInPreparation) {
  Start(0);
  const std::string trigger = folder_.File("hang");
  cluster().AddWorker({"--memory-budget", "64MiB", "--name", "w1"},
                      support::HangingFilesEnvironment(HANGING_FILES, data_.path(), trigger));
  ASSERT_TRUE(WriteFileAtomically(trigger, "").ok());
  ASSERT_TRUE(cluster().control().BeginSubmit(dataset_.job).ok());
  ExpectSymptoms();
  std::filesystem::remove(trigger);
  RestartWorker(0, {});
  ExpectConfirmed();
}

TEST_F(RunbookDataTest, FilesOfAJobVanish) {
  Start(1);
  Submit();
  Read({"--pace", "20"});
  const std::string gone = dataset_.files[2], backup = folder_.File("backup");
  std::filesystem::copy(gone, backup);
  std::filesystem::remove(gone);
  RestartWorker(0, {});  // it had files open
  ExpectSymptoms();
  std::filesystem::copy(backup, gone);
  ExpectConfirmed();
}

TEST_F(RunbookDataTest, FilesOfAJobChange) {
  Start(1);
  Submit();
  Read({"--pace", "20"});
  const std::string file = dataset_.files[2], backup = folder_.File("backup");
  std::filesystem::copy(file, backup);
  std::filesystem::copy(dataset_.files[1], file, std::filesystem::copy_options::overwrite_existing);
  ExpectSymptoms();
  std::filesystem::copy(backup, file, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(
      support::WaitUntil([this] { return Run("penstock read JOB --epochs 1").code == 0; }, std::chrono::minutes(3)));
  Read({"--pace", "20"});
  ExpectConfirmed();
}

TEST_F(RunbookDataTest, RecordsAreBad) {
  const std::string intact = *ReadWholeFile(dataset_.files[0]);
  support::BreakRecord(dataset_.files[0], 3);
  dataset_.job.mutable_errors()->set_policy(v1::ErrorPolicy::MASK);
  dataset_.job.mutable_errors()->set_max_bad_fraction(0.5);
  Start(1);
  Submit();
  Read({"--pace", "20"});
  ExpectSymptoms();
  ASSERT_TRUE(WriteFileAtomically(dataset_.files[0], intact).ok());
  Act();
  Read({"--pace", "20"});
  ExpectConfirmed();
}

TEST_F(RunbookDataTest, AJobHasFailed) {
  const std::string intact = *ReadWholeFile(dataset_.files[0]);
  ASSERT_TRUE(WriteFileAtomically(dataset_.files[0], intact.substr(0, intact.size() - 100)).ok());
  Start(1);
  ASSERT_FALSE(cluster().control().Submit(dataset_.job).ok());
  WriteJob();
  ExpectSymptoms();
  ASSERT_TRUE(WriteFileAtomically(dataset_.files[0], intact).ok());
  Act();
  ExpectConfirmed();
}

TEST_F(RunbookDataTest, ADataRootIsNotMounted) {
  Start(0);
  const support::TempFolder folder;
  cluster().AddWorkerAt({{.name = "data", .path = folder.path()}}, {"--memory-budget", "64MiB", "--name", "w1"});
  ExpectSymptoms();
  std::filesystem::copy(dataset_.files[0], folder.File("data-00000"));
  ExpectConfirmed();
}

TEST_F(RunbookDataTest, StorageDoesNotAnswer) {
  Start(0);
  const std::string trigger = folder_.File("hang");
  cluster().AddWorker({"--memory-budget", "64MiB", "--name", "w1"},
                      support::HangingFilesEnvironment(HANGING_FILES, data_.path(), trigger));
  Submit();
  Read({"--pace", "20"});
  ASSERT_TRUE(WriteFileAtomically(trigger, "").ok());
  ExpectSymptoms();
  std::filesystem::remove(trigger);
  RestartWorker(0, {});
  ExpectConfirmed();
}

// A storage that rejects all keys but "right".
class RunbookStorageTest : public RunbookTest {
 protected:
  RunbookStorageTest() {
    s3_.Put("bucket", "data/data-00000", *ReadWholeFile(dataset_.files[0]));
    s3_.fault = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
      const auto authorization = request.headers.find("authorization");
      if (authorization != request.headers.end() && absl::StrContains(authorization->second, "Credential=right/")) {
        return std::nullopt;
      }
      return support::S3Error(403, "InvalidAccessKeyId", "no such key");
    };
  }
  std::vector<std::string> Keys(const std::string& id) const {
    return {absl::StrCat("AWS_ENDPOINT_URL_S3=", server_.url()), "AWS_ACCESS_KEY_ID=" + id,
            "AWS_SECRET_ACCESS_KEY=secret"};
  }
  support::ServedAnswer Serve(const support::ServedRequest& request) {
    if (request.path != "/keys") return s3_(request);
    return {
        .body = absl::StrCat(
            R"({"AccessKeyId": "right", "SecretAccessKey": "secret", "Token": "session", "Expiration": ")",
            absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now() + absl::Seconds(seconds_.load()), absl::UTCTimeZone()),
            "\"}")};
  }

  support::FakeS3 s3_;
  std::atomic<int> seconds_{100};  // life of the keys that /keys returns
  support::HttpServer server_{[this](const support::ServedRequest& request) { return Serve(request); }};
};

TEST_F(RunbookStorageTest, StorageRejectsTheCredentials) {
  Start(0);
  cluster().AddWorkerAt({{.name = "bucket", .path = "s3://bucket/data"}}, {"--memory-budget", "64MiB", "--name", "w1"},
                        Keys("wrong"));
  ExpectSymptoms();
  RestartWorker(0, {}, Keys("right"));
  ExpectConfirmed();
}

TEST_F(RunbookStorageTest, CredentialsOfStorageEnd) {
  Start(0);
  cluster().AddWorkerAt({{.name = "bucket", .path = "s3://bucket/data"}}, {"--memory-budget", "64MiB", "--name", "w1"},
                        {absl::StrCat("AWS_ENDPOINT_URL_S3=", server_.url()),
                         absl::StrCat("AWS_CONTAINER_CREDENTIALS_FULL_URI=", server_.url(), "/keys")});
  ExpectSymptoms();
  seconds_ = 36'000;
  RestartWorker(0, {}, cluster().worker(0).environment);
  ExpectConfirmed();
}

// Its time is the shortest that a job may have, a minute. The other tests run beside it.
TEST_F(RunbookDataTest, AJobEndsWithoutReaders) {
  dataset_.job.set_idle_expiry_seconds(60);
  Start(1);
  Submit();
  ExpectSymptoms();
  Act();
  ExpectConfirmed();
}

}  // namespace
}  // namespace penstock::faults
