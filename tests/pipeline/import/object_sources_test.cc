// Images in a bucket of a fake S3: changes between listing and reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pipeline/import/file_source.h"
#include "pipeline/storage/files.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::imports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The server of the process's storage, which reads the environment at its first request.
support::FakeS3& S3() {
  static auto* const s3 = [] {
    auto* const fake = new support::FakeS3;
    static support::HttpServer server([fake](const support::ServedRequest& request) { return (*fake)(request); });
    setenv("AWS_ENDPOINT_URL_S3", server.url().c_str(), 1);
    setenv("AWS_ACCESS_KEY_ID", "somebody", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "a secret", 1);
    return fake;
  }();
  return *s3;
}

storage::Storage* Files() { return storage::AnyFiles(); }

class ObjectSources : public ::testing::Test {
 protected:
  ObjectSources() : bucket_(::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    for (char& c : bucket_) c = static_cast<char>(std::tolower(c));
    for (const char* key : {"photos/a/1.jpg", "photos/a/2.jpg", "photos/b/3.jpg"}) Put(key, 40);
  }
  ~ObjectSources() override { S3().fault = nullptr; }

  void Put(const std::string& key, int width) {
    S3().Put(bucket_, key, image::MakeJpeg({.width = width, .height = 30}));
  }
  std::string At(const std::string& key) const { return absl::StrCat("s3://", bucket_, "/", key); }
  std::unique_ptr<RecordSource> Source() {
    auto found = ListClassFolders(Files(), At("photos"), nullptr);
    EXPECT_TRUE(found.ok()) << found.status();
    auto source = NewFileSource(std::move(found->files), {}, true);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  std::string bucket_;
};

TEST_F(ObjectSources, AnnouncedAndUnannouncedItemsGiveTheSameRecords) {
  const auto source = Source();
  ASSERT_EQ(source->size(), 3u);
  ASSERT_GT(source->ahead(), 3u);
  const std::vector<std::string> plain = MakeAll(*source);
  for (uint64_t item = 0; item < source->size(); ++item) source->WillMake(item);
  EXPECT_EQ(MakeAll(*Source()), plain);
  const auto announced = Source();
  for (uint64_t item = 0; item < announced->size(); ++item) announced->WillMake(item);
  EXPECT_EQ(MakeAll(*announced), plain);
  EXPECT_EQ(FeatureOf<std::string>(plain[2], "image/class/text"), "b");
}

TEST_F(ObjectSources, AnObjectDeletedAfterTheListingIsABadItem) {
  const auto source = Source();
  S3().fault = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (absl::EndsWith(request.path, "2.jpg")) return support::S3Error(404, "NoSuchKey");
    return std::nullopt;
  };
  const auto maker = source->NewMaker();
  MadeRecord made;
  const absl::Status gone = maker->Make(1, &made);
  EXPECT_TRUE(IsBadItem(gone)) << gone;
  EXPECT_THAT(std::string(gone.message()), AllOf(HasSubstr(At("photos/a/2.jpg")), HasSubstr("was there when it was")));
  EXPECT_TRUE(maker->Make(2, &made).ok());
}

TEST_F(ObjectSources, AnObjectOverwrittenAfterTheListingEndsTheRun) {
  const auto source = Source();
  Put("photos/a/1.jpg", 44);
  MadeRecord made;
  const absl::Status changed = source->NewMaker()->Make(0, &made);
  EXPECT_FALSE(IsBadItem(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()), HasSubstr(At("photos/a/1.jpg") + " changed after it was listed"));
  EXPECT_NE(Source()->fingerprint(), source->fingerprint());
}

TEST_F(ObjectSources, RejectedKeysAreNotTheFaultOfAnItem) {
  const auto source = Source();
  S3().fault = [](const support::ServedRequest&) {
    return std::optional<support::ServedAnswer>(support::S3Error(403, "AccessDenied"));
  };
  MadeRecord made;
  const absl::Status refused = source->NewMaker()->Make(0, &made);
  EXPECT_FALSE(IsBadItem(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("AccessDenied"));
}

TEST_F(ObjectSources, ListsMayNameObjectsByTheirUrls) {
  TempDir dir;
  dir.Write("here.jpg", image::MakeJpeg({.width = 40, .height = 30}));
  dir.Write("list", absl::StrCat(At("photos/b/3.jpg"), " 3\nhere.jpg 4\n", At("photos/none.jpg"), " 5\n"));
  const auto files = ReadFileList(Files(), dir.File("list"), dir.path(), nullptr);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_TRUE(files->is_object(0));
  EXPECT_FALSE(files->is_object(1));
  EXPECT_EQ(files->path(0), At("photos/b/3.jpg"));
  EXPECT_TRUE(files->state(0).has_value());
  EXPECT_EQ(files->unreadable(), 1u);
  EXPECT_THAT(files->first_unreadable(), HasSubstr(At("photos/none.jpg")));
}

}  // namespace
}  // namespace penstock::imports
