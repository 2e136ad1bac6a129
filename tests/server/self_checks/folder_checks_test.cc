#include "server/self_checks/folder_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "pipeline/storage/forwarding_storage.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/temp_folder.h"

namespace penstock::server {
namespace {

using ::testing::HasSubstr;

// A storage of URLs, whose names all have one state.
class OneAnswer final : public storage::ForwardingStorage {
 public:
  OneAnswer(absl::StatusOr<storage::StoredName> answer, bool folders) : answer_(std::move(answer)), folders_(folders) {}
  bool IsLocal(const std::string&) const override { return false; }
  bool HasFolders(const std::string&) const override { return folders_; }
  absl::StatusOr<storage::StoredName> StatAndWait(const std::string&, const storage::CallOptions&) override {
    return answer_;
  }

 private:
  storage::Storage* Of(const std::string&) const override { return storage::LocalFiles(); }
  const absl::StatusOr<storage::StoredName> answer_;
  const bool folders_;
};

TEST(FolderChecks, ADataRootMustBeAReadableFolderWithFiles) {
  const support::TempFolder folder;
  const auto check = [&](const std::string& path) {
    return CheckDataRoot(storage::LocalFiles(), {.name = "root", .path = path});
  };
  EXPECT_TRUE(check(folder.path()).fault());
  EXPECT_THAT(check(folder.path()).message(), HasSubstr("is empty. Mount its file system"));
  ASSERT_TRUE(WriteFileAtomically(folder.File("shard"), "x").ok());
  EXPECT_FALSE(check(folder.path()).fault()) << check(folder.path()).message();
  EXPECT_TRUE(check(folder.File("gone")).fault());
  EXPECT_EQ(check(folder.File("gone")).message(),
            folder.File("gone") +
                ": No such file or directory. Mount it, give this user read access, or name another --data-root");
  EXPECT_TRUE(check(folder.File("shard")).fault()) << "a file";
}

TEST(FolderChecks, AStorageOfObjectsMustAcceptTheCredentials) {
  const auto check = [](absl::StatusOr<storage::StoredName> answer, bool folders,
                        const std::string& path = "s3://b/d") {
    OneAnswer storage(std::move(answer), folders);
    return CheckDataRoot(&storage, {.name = "root", .path = path});
  };
  EXPECT_FALSE(check(storage::StoredName{}, true).fault());
  const v1::Finding denied = check(absl::PermissionDeniedError("s3://b/d: InvalidAccessKeyId"), true);
  EXPECT_TRUE(denied.fault());
  EXPECT_THAT(denied.message(), HasSubstr("s3://b/d: InvalidAccessKeyId. Correct the credentials"));
  EXPECT_TRUE(check(absl::NotFoundError("s3://b/d: no such object"), true).fault());
  EXPECT_FALSE(check(absl::NotFoundError("404"), false).fault()) << "a web server has no folders";
  EXPECT_TRUE(check(absl::UnavailableError("connection refused"), false).fault());
  EXPECT_FALSE(check(absl::UnavailableError("not asked"), true, "s3:/").fault());
}

TEST(FolderChecks, CredentialsThatCouldNotBeRenewedAreAFault) {
  EXPECT_FALSE(CheckStorageCredentials(0, 1'780'000'000).fault());
  EXPECT_FALSE(CheckStorageCredentials(1'780'003'600, 1'780'000'000).fault());
  EXPECT_EQ(CheckStorageCredentials(1'780'003'600, 1'780'000'000).message(),
            "valid until 2026-05-28 21:26 UTC, and renewed before");
  EXPECT_TRUE(CheckStorageCredentials(1'780'000'060, 1'780'000'000).fault());
  EXPECT_THAT(CheckStorageCredentials(1'779'999'999, 1'780'000'000).message(), HasSubstr("they ended on "));
}

TEST(FolderChecks, AFolderOfTheDaemonMustExist) {
  const support::TempFolder folder;
  EXPECT_THAT(CheckWritableFolder(folder.path()).message(), HasSubstr(" are free"));
  EXPECT_TRUE(CheckWritableFolder(folder.File("gone")).fault());
  EXPECT_THAT(CheckWritableFolder(folder.File("gone")).message(), HasSubstr("No such file or directory. Make it"));
}

}  // namespace
}  // namespace penstock::server
