// Globs over objects: the matches, the limits of the roots, and the messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/storage/files.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::sources {
namespace {

// Finds the fake services through the environment, as a process does.
storage::Storage* Files() { return storage::AnyFiles(); }

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A server of S3. The storage of the process uses it from the first object name on.
class Bucket {
 public:
  Bucket() {
    for (const char* key :
         {"train/photos-0", "train/photos-1", "train/photos-10", "train/.hidden", "train/photos-0.psidx",
          "train/day 1/photos-0", "train/day 2/photos-0", "training/photos-0", "photos-0"}) {
      s3_.Put("bucket", key, key);
    }
    setenv("AWS_ENDPOINT_URL_S3", server_.url().c_str(), 1);
    setenv("AWS_ACCESS_KEY_ID", "id", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  }

 private:
  support::FakeS3 s3_;
  support::HttpServer server_{[this](const support::ServedRequest& request) { return s3_(request); }};
};

class ObjectFilesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { static auto* const bucket [[maybe_unused]] = new Bucket; }

  static std::vector<std::string> Names(const std::vector<std::string>& globs, const std::vector<std::string>& roots) {
    const auto files = ExpandGlobs(Files(), globs, ParseDataRoots(Files(), roots).value());
    if (!files.ok()) return {std::string(files.status().message())};
    std::vector<std::string> names;
    for (const DatasetFile& file : *files) {
      EXPECT_EQ(file.info.has_value() ? file.info->size : file.path.size() - std::string("s3://bucket/").size(),
                file.path.size() - std::string("s3://bucket/").size());
      names.push_back(absl::StrCat(file.root, ":", file.relative_path));
    }
    return names;
  }
};

TEST_F(ObjectFilesTest, AGlobMatchesObjectsLikeFiles) {
  EXPECT_THAT(Names({"photos-?"}, {"data=s3://bucket/train"}), ElementsAre("data:photos-0", "data:photos-1"));
  EXPECT_THAT(Names({"*"}, {"s3://bucket/train/"}), ElementsAre("train:photos-0", "train:photos-1", "train:photos-10"));
  EXPECT_THAT(Names({"day*/photos-*"}, {"data=s3://bucket/train"}),
              ElementsAre("data:day 1/photos-0", "data:day 2/photos-0"));
  EXPECT_THAT(
      Names({"*/photos-*"}, {"data=s3://bucket"}),
      ElementsAre("data:train/photos-0", "data:train/photos-1", "data:train/photos-10", "data:training/photos-0"));
  EXPECT_THAT(Names({"s3://bucket/train/photos-1", "s3://bucket/train/photos-1*"}, {"data=s3://bucket/train"}),
              ElementsAre("data:photos-1", "data:photos-10"));
}

TEST_F(ObjectFilesTest, RootsConfineObjects) {
  for (const char* glob : {"s3://bucket/photos-0", "s3://bucket/training/*", "s3://other/train/*", "/train/photos-0"}) {
    EXPECT_THAT(Names({glob}, {"data=s3://bucket/train"}), ElementsAre(HasSubstr("outside of the data roots"))) << glob;
  }
  EXPECT_THAT(Names({"s3://bucket/train/../photos-0"}, {"data=s3://bucket/train"}), ElementsAre(HasSubstr("\"..\"")));
  // A file root contains no objects, and its name is no URL.
  EXPECT_THAT(Names({"s3://bucket/train/photos-0"}, {"all=/"}), ElementsAre(HasSubstr("outside of the data roots")));
}

TEST_F(ObjectFilesTest, ErrorsListTheExistingObjects) {
  EXPECT_THAT(Names({"s3://bucket/train/fotos-*"}, {"data=s3://bucket"}),
              ElementsAre(testing::AllOf(HasSubstr("matches no file"), HasSubstr("photos-0"))));
  EXPECT_THAT(Names({"*"}, {"data=s3://bukket"}), ElementsAre(HasSubstr("there is no bucket s3://bukket")));
}

TEST_F(ObjectFilesTest, ParsingARootNeedsNoReachableStorage) {
  const auto roots = ParseDataRoots(Files(), {"far=s3://no-such-bucket/train/", "web=https://127.0.0.1:1/data"});
  ASSERT_TRUE(roots.ok()) << roots.status();
  EXPECT_EQ((*roots)[0].path, "s3://no-such-bucket/train");
  EXPECT_EQ((*roots)[1].path, "https://127.0.0.1:1/data");
  EXPECT_FALSE(ParseDataRoots(Files(), {"s3://"}).ok());
  EXPECT_FALSE(ParseDataRoots(Files(), {"web=https://me:secret@host/data"}).ok());
}

TEST_F(ObjectFilesTest, AWebServerGetsRequestsForFilesAndNotForListings) {
  support::HttpServer web([](const support::ServedRequest& request) {
    return request.path == "/data/a-0" ? support::ServedAnswer{.body = "0123"} : support::ServedAnswer{.status = 404};
  });
  const auto roots = ParseDataRoots(Files(), {"web=" + web.url() + "/data"}).value();
  const auto files = ExpandGlobs(Files(), {"a-0"}, roots);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)[0].path, web.url() + "/data/a-0");
  EXPECT_EQ((*files)[0].info->size, 4u);
  EXPECT_TRUE(absl::IsNotFound(ExpandGlobs(Files(), {"a-1"}, roots).status()));
  const absl::Status listed = ExpandGlobs(Files(), {"a-*"}, roots).status();
  EXPECT_THAT(std::string(listed.message()), HasSubstr("name each shard"));
}

}  // namespace
}  // namespace penstock::sources
