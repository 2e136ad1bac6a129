// Commands and a cluster on a storage that is new to them: a line in the table of storages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "client/cli/commands.h"
#include "config/flags.h"
#include "pipeline/import/shard_state.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/storage/memory_storage.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/temp_folder.h"

namespace penstock::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StorageCommands : public ::testing::Test {
 protected:
  StorageCommands() { setenv("XDG_CACHE_HOME", home_.File("cache").c_str(), 1); }

  static storage::MemoryStorage* Memory() {
    static auto* const memory = new storage::MemoryStorage;
    return memory;
  }
  static std::vector<storage::UrlStorage> Table() {
    return {{"mem", [] { return static_cast<storage::Storage*>(Memory()); }}};
  }
  static absl::Status Run(std::unique_ptr<cli::Command> command, const std::vector<std::string>& arguments) {
    config::Flags flags;
    command->AddFlags(&flags);
    const auto rest = flags.Parse(arguments);
    return rest.ok() ? command->Run(*rest) : rest.status();
  }
  std::vector<std::string> NamesIn(const std::string& folder) {
    std::vector<std::string> names;
    const std::vector<storage::StoredEntry> entries = Memory()->ListAndWait(folder).value();
    for (const storage::StoredEntry& entry : entries) names.push_back(entry.name);
    return names;
  }

  support::TempFolder home_;
  const std::unique_ptr<storage::Storage> files_ = storage::FilesBy(storage::LocalFiles(), Table());
};

TEST_F(StorageCommands, ImportInitIndexBenchSubmitAndReadWork) {
  for (int i = 0; i < 12; ++i) {
    const std::string folder = absl::StrCat("photos/", i % 2 == 0 ? "cat" : "dog");
    const std::string name = absl::StrCat(folder, "/", i, ".jpg"),
                      jpeg = image::MakeJpeg({.width = 40 + i, .height = 30});
    ASSERT_TRUE(Memory()->Put("mem://bucket/" + name, jpeg).ok());
    std::filesystem::create_directories(home_.File(folder));
    ASSERT_TRUE(WriteFileAtomically(home_.File(name), jpeg).ok());
  }
  const std::vector<std::string> import = {"mem://bucket/photos", "--out", "mem://bucket/shards", "--prefix", "train"};
  ASSERT_EQ(Run(cli::NewImport(files_.get()), import), absl::OkStatus());
  EXPECT_THAT(NamesIn("mem://bucket/shards"),
              ElementsAre(imports::kShardStateName, "labels.txt", "train-00000.tfrecord"));
  ASSERT_EQ(
      Run(cli::NewImport(files_.get()), {home_.File("photos"), "--out", home_.File("shards"), "--prefix", "train"}),
      absl::OkStatus());
  EXPECT_EQ(storage::ReadContent(files_.get(), "mem://bucket/shards/train-00000.tfrecord", 1 << 20).value(),
            storage::ReadContent(files_.get(), home_.File("shards/train-00000.tfrecord"), 1 << 20).value());
  EXPECT_EQ(Run(cli::NewImport(files_.get()), import), absl::OkStatus()) << "again";
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Run(cli::NewImport(files_.get()), {"mem://bucket/photos", "--out", "mem://bucket/shards"})));

  const std::string root = "data=mem://bucket";
  EXPECT_EQ(Run(cli::NewIndex(files_.get()), {"shards", "--data-root", root, "--index-beside"}), absl::OkStatus());
  EXPECT_THAT(NamesIn("mem://bucket/shards"), Contains("train-00000.tfrecord.psidx"));
  EXPECT_EQ(Run(cli::NewVerify(files_.get()), {"mem://bucket/shards"}), absl::OkStatus());
  const std::string filter = "col('image/width') > 0 and bytes(col('image/encoded')) > 100";
  EXPECT_EQ(Run(cli::NewSelect(files_.get()), {"mem://bucket/shards", "--filter", filter}), absl::OkStatus());
  ASSERT_EQ(Run(cli::NewInit(files_.get()), {"shards", "--data-root", root, "--out", home_.File("job.textproto")}),
            absl::OkStatus());
  const std::string made = ReadWholeFile(home_.File("job.textproto")).value();
  EXPECT_THAT(made, HasSubstr("\"shards/*.tfrecord\""));
  const std::string job = absl::StrReplaceAll(made, {{"\"shards/", "\"mem://bucket/shards/"}});
  const std::string local = absl::StrReplaceAll(made, {{"\"shards/", absl::StrCat("\"", home_.File("shards"), "/")}});
  ASSERT_TRUE(WriteFileAtomically(home_.File("local.textproto"), local).ok());
  EXPECT_EQ(Run(cli::NewBench(files_.get()), {home_.File("local.textproto"), "--seconds", "0", "--index-beside"}),
            absl::OkStatus());
  EXPECT_TRUE(std::filesystem::exists(home_.File("shards/train-00000.tfrecord.psidx")));

  support::InProcessCluster cluster({.storage = files_.get()}, sources::ParseDataRoots(files_.get(), {root}).value());
  ASSERT_TRUE(Memory()->Put("mem://bucket/train.textproto", job).ok());
  EXPECT_EQ(Run(cli::NewBench(files_.get()), {"mem://bucket/train.textproto", "--seconds", "0"}), absl::OkStatus());
  const std::vector<std::string> to = {"mem://bucket/train.textproto", "--coordinator", cluster.address()};
  ASSERT_EQ(Run(cli::NewSubmit(files_.get()), to), absl::OkStatus());
  EXPECT_EQ(Run(cli::NewRead(files_.get()), to), absl::OkStatus());

  // A host without the storage rejects the job.
  const auto others = storage::FilesBy(storage::LocalFiles());
  ASSERT_TRUE(WriteFileAtomically(home_.File("mem.textproto"), job).ok());
  const absl::Status rejected =
      Run(cli::NewSubmit(others.get()), {home_.File("mem.textproto"), "--coordinator", cluster.address()});
  EXPECT_THAT(std::string(rejected.message()),
              HasSubstr("dataset[0].files[0]: \"mem://bucket/shards/*.tfrecord\" is a URL"));
}

}  // namespace
}  // namespace penstock::cli
