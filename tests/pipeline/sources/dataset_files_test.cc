#include "pipeline/sources/dataset_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"
#include "tests/pipeline/storage/memory_storage.h"

namespace penstock::sources {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DatasetFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.File("a/sub/deep"));
    fs::create_directories(folder_.File("b"));
    fs::create_directories(folder_.File("outside"));
    for (const char* name :
         {"a/train-1", "a/train-0", "a/train-10", "a/val-0", "a/.train-hidden", "a/sub/train-0", "a/sub/deep/x",
          "b/train-0", "outside/secret", "a/train-0.psidx", "a/train-0.psidx.penstock-tmp.AbCdEf"}) {
      WriteBytes(folder_.File(name), "");
    }
    auto roots = ParseDataRoots(storage::LocalFiles(), {folder_.File("a"), "second=" + folder_.File("b")});
    ASSERT_TRUE(roots.ok()) << roots.status();
    roots_ = *std::move(roots);
  }

  std::vector<std::string> Names(const std::vector<std::string>& globs) {
    auto files = ExpandGlobs(storage::LocalFiles(), globs, roots_);
    EXPECT_TRUE(files.ok()) << files.status();
    std::vector<std::string> names;
    if (!files.ok()) return names;
    for (const DatasetFile& file : *files) names.push_back(file.root + ":" + file.relative_path);
    return names;
  }
  std::string Error(const std::vector<std::string>& globs, absl::StatusCode code) {
    auto files = ExpandGlobs(storage::LocalFiles(), globs, roots_);
    EXPECT_EQ(files.status().code(), code) << files.status();
    return std::string(files.status().message());
  }

  support::TempFolder folder_;
  std::vector<DataRoot> roots_;
};

TEST_F(DatasetFilesTest, SortsByTheBytesOfRootAndPath) {
  EXPECT_THAT(Names({"train-*"}), ElementsAre("a:train-0", "a:train-1", "a:train-10", "second:train-0"));
  auto files = ExpandGlobs(storage::LocalFiles(), {"train-1"}, roots_);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ((*files)[0].path, fs::canonical(folder_.File("a/train-1")));
}

TEST_F(DatasetFilesTest, KnowsTheWildcards) {
  EXPECT_THAT(Names({"train-?"}), ElementsAre("a:train-0", "a:train-1", "second:train-0"));
  EXPECT_THAT(Names({"*-[1-9]*"}), ElementsAre("a:train-1", "a:train-10"));
  EXPECT_THAT(Names({"s*b/*"}), ElementsAre("a:sub/train-0"));
  EXPECT_THAT(Names({"*/*/x"}), ElementsAre("a:sub/deep/x"));
  EXPECT_THAT(Names({"./sub//deep/x"}), ElementsAre("a:sub/deep/x"));
  EXPECT_THAT(Names({".train*"}), ElementsAre("a:.train-hidden"));
}

TEST_F(DatasetFilesTest, NamesEachFileOnce) {
  EXPECT_THAT(Names({"train-0", "train-*", "val-?", "val-0"}),
              ElementsAre("a:train-0", "a:train-1", "a:train-10", "a:val-0", "second:train-0"));
  fs::create_symlink("train-1", folder_.File("a/latest"));
  EXPECT_THAT(Names({"latest", "train-1"}), ElementsAre("a:latest"));
}

TEST_F(DatasetFilesTest, AcceptsAbsoluteGlobsInsideARoot) {
  EXPECT_THAT(Names({folder_.File("b") + "/*"}), ElementsAre("second:train-0"));
  EXPECT_THAT(Names({"/" + folder_.File("b") + "//train-0"}), ElementsAre("second:train-0"));
  EXPECT_THAT(Error({folder_.File("outside") + "/*"}, absl::StatusCode::kInvalidArgument),
              HasSubstr("second=" + roots_[1].path));
  // A sibling folder whose name begins with the root's name is outside.
  EXPECT_THAT(Error({folder_.File("ab") + "/*"}, absl::StatusCode::kInvalidArgument), HasSubstr("outside"));
}

TEST_F(DatasetFilesTest, AcceptsAbsoluteGlobsThroughARootThatIsASymlink) {
  fs::create_symlink(folder_.File("a"), folder_.File("link"));
  auto roots = ParseDataRoots(storage::LocalFiles(), {folder_.File("link")});
  ASSERT_TRUE(roots.ok());
  EXPECT_EQ((*roots)[0].name, "link");
  auto files = ExpandGlobs(storage::LocalFiles(), {folder_.File("link") + "/train-1"}, *roots);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)[0].relative_path, "train-1");
}

TEST_F(DatasetFilesTest, RejectsPathsOutOfTheRoots) {
  EXPECT_THAT(Error({"../outside/secret"}, absl::StatusCode::kInvalidArgument), HasSubstr("\"..\""));
  EXPECT_THAT(Error({folder_.File("a") + "/../outside/*"}, absl::StatusCode::kInvalidArgument), HasSubstr(".."));
  fs::create_symlink(folder_.File("outside/secret"), folder_.File("a/train-leak"));
  const std::string leak = Error({"train-*"}, absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(leak, HasSubstr("train-leak"));
  EXPECT_THAT(leak, HasSubstr("a=" + roots_[0].path));
  fs::create_directory_symlink(folder_.File("outside"), folder_.File("b/door"));
  Error({"door/*"}, absl::StatusCode::kPermissionDenied);
  Error({"door/secret"}, absl::StatusCode::kPermissionDenied);
}

TEST_F(DatasetFilesTest, FollowsSymlinksInsideTheRoots) {
  fs::create_symlink(folder_.File("b/train-0"), folder_.File("a/other"));
  auto files = ExpandGlobs(storage::LocalFiles(), {"other"}, roots_);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)[0].root, "a");
  EXPECT_EQ((*files)[0].path, fs::canonical(folder_.File("b/train-0")));
}

TEST_F(DatasetFilesTest, NamesTheGlobThatMatchesNothing) {
  const std::string nothing = Error({"train-*", "tset-*"}, absl::StatusCode::kNotFound);
  EXPECT_THAT(nothing, HasSubstr("\"tset-*\""));
  EXPECT_THAT(nothing, HasSubstr(roots_[0].path));
  Error({"sub"}, absl::StatusCode::kNotFound);  // a folder is no shard
  Error({""}, absl::StatusCode::kInvalidArgument);
  Error({}, absl::StatusCode::kInvalidArgument);
  Error({"train-0/x"}, absl::StatusCode::kNotFound);
  EXPECT_EQ(ExpandGlobs(storage::LocalFiles(), {"*"}, {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DatasetFilesTest, AGlobWithoutAMatchListsTheExistingFiles) {
  const auto of = [&](const std::string& glob) { return Error({glob}, absl::StatusCode::kNotFound); };
  const std::string a = roots_[0].path, b = roots_[1].path;
  EXPECT_THAT(of(b + "/trian-*"), HasSubstr(": " + b + " holds train-0 (did you mean 'train-*'?)"));
  EXPECT_THAT(of(b + "/x/train-*"), HasSubstr(": there is no folder " + b + "/x; " + b + " holds train-0"));
  EXPECT_THAT(of(a + "/sub/x*"), HasSubstr(": " + a + "/sub holds deep/, train-0"));
  EXPECT_THAT(of(a + "/sub"), HasSubstr(": " + a + "/sub is a folder; '" + a + "/sub/*' stands for the files in it"));
  // A relative glob applies below each root.
  EXPECT_THAT(of("tset-*"), HasSubstr(": " + a + " holds sub/, train-0, train-1, train-10, val-0"));
  for (int i = 0; i < 30; ++i) WriteBytes(folder_.File("b/many-" + std::to_string(i)), "");
  EXPECT_THAT(of(b + "/x*"), HasSubstr(" and 23 more"));
}

TEST_F(DatasetFilesTest, AUrlOfAnotherKindIsRejectedWithTheFix) {
  for (const char* url : {"ftp://host/train-0", "hdfs://n/x", "gcs://bucket/train-*"}) {
    const std::string message = Error({url}, absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(message, HasSubstr(std::string("\"") + url + "\" is a URL"));
    EXPECT_THAT(message, HasSubstr("mount"));
  }
  EXPECT_THAT(Error({"file://host/train-0"}, absl::StatusCode::kInvalidArgument), HasSubstr("file:///data/train-*"));
  EXPECT_THAT(Error({"HTTPS://host/train-0"}, absl::StatusCode::kInvalidArgument),
              HasSubstr("small letters: https://"));
  for (const char* url :
       {"ftp://me:hunter2@host/train-0", "HTTPS://host/train-0?sig=hunter2", "ftp://me:a/hunter2@h"}) {
    EXPECT_THAT(Error({url}, absl::StatusCode::kInvalidArgument), Not(HasSubstr("hunter2")));
  }
}

TEST_F(DatasetFilesTest, AFileUrlIsTreatedAsItsPath) {
  const auto files = ExpandGlobs(storage::LocalFiles(), {"file://" + roots_[1].path + "/train-*"}, roots_);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->size(), 1u);
  EXPECT_EQ((*files)[0].path, roots_[1].path + "/train-0");
  EXPECT_THAT(Error({"file:///etc/passwd"}, absl::StatusCode::kInvalidArgument),
              HasSubstr("outside of the data roots"));
  EXPECT_EQ(ParseDataRoots(storage::LocalFiles(), {"data=file://" + roots_[1].path}).value()[0].path, roots_[1].path);
}

TEST_F(DatasetFilesTest, RejectsDanglingLinksAndPipes) {
  fs::create_symlink("nowhere", folder_.File("a/dangling"));
  EXPECT_THAT(Error({"dangling"}, absl::StatusCode::kNotFound), HasSubstr("dangling"));
  ASSERT_EQ(mkfifo(folder_.File("a/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Error({"pipe"}, absl::StatusCode::kInvalidArgument), HasSubstr("pipe"));
}

TEST_F(DatasetFilesTest, ResolvesASnapshotsNames) {
  EXPECT_EQ(*ResolveInRoots(storage::LocalFiles(), "second", "train-0", roots_),
            fs::canonical(folder_.File("b/train-0")));
  const auto code_of = [&](const std::string& root, const std::string& path) {
    const absl::Status status = ResolveInRoots(storage::LocalFiles(), root, path, roots_).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return status.code();
  };
  EXPECT_EQ(code_of("third", "train-0"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code_of("second", "train-9"), absl::StatusCode::kNotFound);
  EXPECT_EQ(code_of("a", "../outside/secret"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of("a", "/etc/passwd"), absl::StatusCode::kInvalidArgument);
  fs::create_symlink(folder_.File("outside/secret"), folder_.File("a/leak"));
  EXPECT_EQ(code_of("a", "leak"), absl::StatusCode::kPermissionDenied);
}

TEST_F(DatasetFilesTest, ChecksRoots) {
  EXPECT_FALSE(ParseDataRoots(storage::LocalFiles(), {folder_.File("none")}).ok());
  EXPECT_FALSE(ParseDataRoots(storage::LocalFiles(), {folder_.File("a/train-0")}).ok());
  EXPECT_FALSE(ParseDataRoots(storage::LocalFiles(), {"=" + folder_.File("a")}).ok());
  EXPECT_FALSE(ParseDataRoots(storage::LocalFiles(), {"/"}).ok());
  EXPECT_TRUE(ParseDataRoots(storage::LocalFiles(), {"all=/"}).ok());
  const auto twice = ParseDataRoots(storage::LocalFiles(), {folder_.File("a"), "a=" + folder_.File("b")});
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("two data roots are named \"a\""));
  fs::create_directory(folder_.File("x=y"));
  auto odd = ParseDataRoots(storage::LocalFiles(), {folder_.File("x=y")});
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ((*odd)[0].name, "x=y");
}

TEST(DataRoots, AUrlWithoutAPathNeedsAName) {
  storage::MemoryStorage memory;
  const absl::Status status = ParseDataRoots(&memory, {"mem://"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(ParseDataRoots(&memory, {"mem://bucket/set"}).value()[0].name, "set");
}

}  // namespace
}  // namespace penstock::sources
