#include "client/cli/support_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/support/temp_folder.h"

namespace penstock::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SupportArchive, IsReadByTar) {
  const support::TempFolder folder;
  const std::string path = folder.File("support.tar.zst");
  const std::string odd(1025, 'x');
  const auto archive = SupportArchive({{"README.txt", "hello\n"}, {"worker_a/log.txt", odd}, {"empty.txt", ""}}, 1000);
  ASSERT_TRUE(archive.ok()) << archive.status();
  ASSERT_TRUE(WritePrivateFile(path, *archive, false).ok());
  ASSERT_EQ(std::system(absl::StrCat("cd ", folder.path(), " && zstd -dcq support.tar.zst | tar -x").c_str()), 0);
  EXPECT_EQ(ReadWholeFile(folder.File("README.txt")).value_or(""), "hello\n");
  EXPECT_EQ(ReadWholeFile(folder.File("worker_a/log.txt")).value_or(""), odd);
  EXPECT_EQ(ReadWholeFile(folder.File("empty.txt")).value_or("-"), "");
  struct stat state = {};
  ASSERT_EQ(stat(path.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600U);
}

TEST(SupportArchive, AnExistingFileStaysUnlessItIsReplaced) {
  const support::TempFolder folder;
  const std::string path = folder.File("support.tar.zst");
  ASSERT_TRUE(WritePrivateFile(path, "old", false).ok());
  const absl::Status again = WritePrivateFile(path, "new", false);
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(again.message()), HasSubstr("use --replace"));
  EXPECT_EQ(ReadWholeFile(path).value_or(""), "old");
  EXPECT_TRUE(WritePrivateFile(path, "new", true).ok());
  EXPECT_EQ(ReadWholeFile(path).value_or(""), "new");
  EXPECT_FALSE(WritePrivateFile(folder.File("no/where"), "new", true).ok());
}

TEST(SupportArchive, LongTextsLoseTheirBeginningAndThenLongFilesAreLeftOut) {
  SupportContents contents;
  std::string log;
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&log, "line ", i, "\n");
  contents["a/log.txt"] = log;
  contents["a/host.txt"] = "short";
  contents["status.json"] = std::string(1000, '{');
  EXPECT_THAT(FitSupportContents(2 * log.size(), &contents), ElementsAre());
  EXPECT_THAT(FitSupportContents(200'000, &contents), ElementsAre(HasSubstr("a/log.txt lacks its first ")));
  EXPECT_LE(contents["a/log.txt"].size(), 200'000u);
  EXPECT_EQ(contents["a/log.txt"].rfind("line ", 0), 0u);  // whole lines
  EXPECT_THAT(contents["a/log.txt"], HasSubstr("line 99999\n"));
  EXPECT_EQ(contents["a/host.txt"], "short");
  contents["jobs/x.json"] = std::string(1'000'000, '{');
  EXPECT_THAT(FitSupportContents(100'000, &contents),
              ElementsAre(HasSubstr("a/log.txt lacks"), HasSubstr("jobs/x.json of ")));
  EXPECT_FALSE(contents.contains("jobs/x.json"));
  EXPECT_TRUE(contents.contains("status.json"));
}

TEST(SupportArchive, NamesBecomeComponents) {
  EXPECT_EQ(ComponentOf("worker gpu7:7071 (a/b)"), "worker_gpu7_7071__a_b_");
  EXPECT_EQ(ComponentOf("../etc"), "_.._etc");
  EXPECT_EQ(ComponentOf(""), "_");
}

}  // namespace
}  // namespace penstock::cli
