// penstock import and penstock bake as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "pipeline/import/shard_cutter.h"
#include "tests/client/cli/command_testing.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/pipeline/import/npy_testing.h"

namespace penstock::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Watches a folder for new files.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder) : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(inotify_add_watch(fd_, folder.c_str(), IN_CREATE | IN_MOVED_TO), 0) << folder;
  }
  ~FolderWatch() { close(fd_); }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Returns when `path`, in the folder, exists or the child has ended. Does not reap the child.
  void Wait(const std::string& path, pid_t child) const {
    const int ends = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    ASSERT_GE(ends, 0);
    pollfd either[] = {{fd_, POLLIN, 0}, {ends, POLLIN, 0}};
    while (!std::filesystem::exists(path) && either[1].revents == 0) {
      ASSERT_GT(poll(either, 2, -1), 0);
      char events[4096];
      while (read(fd_, events, sizeof events) > 0) {
      }
    }
    close(ends);
  }

 private:
  const int fd_;
};

class ImportCommand : public CommandTest {
 protected:
  // Makes `count` images in three class folders below "photos".
  void MakePhotos(int count) {
    for (int i = 0; i < count; ++i) {
      dir_.Write(absl::StrCat("photos/class ", i % 3, "/", i, ".jpg"),
                 image::MakeJpeg({.width = 60 + i, .height = 50, .seed = static_cast<uint32_t>(i)}));
    }
  }
};

TEST_F(ImportCommand, ClassFoldersBecomeADataSetThatOtherCommandsAccept) {
  MakePhotos(12);
  const Outcome outcome = Run({"import", "photos", "--out", "new/shards", "--shard-size", "10KB"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("12 records in"));
  EXPECT_THAT(outcome.out, HasSubstr("12 restart-indexed"));
  EXPECT_EQ(imports::FilesOf(dir_.File("new/shards")).at("labels.txt"), "class 0\t0\nclass 1\t1\nclass 2\t2\n");
  std::map<std::string, int64_t> labels;
  for (const std::string& record : imports::RecordsOf(dir_.File("new/shards"))) {
    labels[*imports::FeatureOf<std::string>(record, "image/filename")] =
        *imports::FeatureOf<int64_t>(record, "image/class/label");
  }
  ASSERT_EQ(labels.size(), 12u);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(labels.at(absl::StrCat(i, ".jpg")), i % 3);
  ExpectOk({"verify", "new/shards/data-*"});
  ExpectOk({"index", "new/shards/data-*"});
  ExpectOk({"init", "new/shards", "--out", "job.textproto"});  // a folder written by import: only its shards count
  ExpectOk({"check-config", "job.textproto"});
  ExpectOk({"preview", "job.textproto", "--out", "sheet.png"});
  // The second run has no work, and no error.
  const auto before = imports::FilesOf(dir_.File("new/shards"));
  EXPECT_THAT(Run({"import", "photos", "--out", "new/shards", "--shard-size", "10KB"}).out, HasSubstr("there already"));
  EXPECT_EQ(imports::FilesOf(dir_.File("new/shards")), before);
}

TEST_F(ImportCommand, ARunAfterAKilledOneWritesTheSameFiles) {
  MakePhotos(40);
  const auto import_to = [](const std::string& out, const std::string& threads) {
    return std::vector<std::string>{"import", "photos", "--out", out, "--shard-size", "12KB", "--threads", threads};
  };
  ASSERT_EQ(Run(import_to("whole", "1")).code, 0);
  const auto expected = imports::FilesOf(dir_.File("whole"));
  ASSERT_GT(expected.size(), 8u);
  for (int shard = 0; shard + 2 < static_cast<int>(expected.size()); shard += 2) {
    const std::string out = absl::StrCat("killed", shard);
    std::filesystem::create_directory(dir_.File(out));
    const FolderWatch watch(dir_.File(out));
    const pid_t child = Start(import_to(out, "3"));
    watch.Wait(dir_.File(out + "/" + imports::ShardName("data", static_cast<uint64_t>(shard))), child);
    int status = 0;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    const Outcome outcome = Run(import_to(out, "2"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(imports::FilesOf(dir_.File(out)), expected) << shard;
  }
}

TEST_F(ImportCommand, ImportsListsAndReportsTheirBadFiles) {
  MakePhotos(3);
  dir_.Write("photos/text.jpg", "this is no image, despite its name");
  dir_.Write("photos/list.txt", "class 0/0.jpg 5\nclass 1/1.jpg\t-6\ntext.jpg 7\n");
  Outcome outcome = Run({"import", "--list", "photos/list.txt", "--out", "out", "--order", "sorted"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("photos/text.jpg: "));
  EXPECT_THAT(outcome.err, HasSubstr("--skip-bad"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("out")));
  outcome = Run({"import", "--list", "photos/list.txt", "--out", "out", "--order", "sorted", "--skip-bad", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"records\": 2"));
  EXPECT_THAT(outcome.out, HasSubstr("\"skipped\": 1"));
  EXPECT_THAT(imports::FilesOf(dir_.File("out")).at("skipped.txt"), HasSubstr("photos/text.jpg"));
  // --skip-bad also skips a damaged image, and does not report that the file stays unchanged.
  const std::string whole = *ReadWholeFile(dir_.File("photos/class 0/0.jpg"));
  dir_.Write("photos/cut.jpg", whole.substr(0, whole.size() / 2));
  dir_.Write("photos/damaged.txt", "class 0/0.jpg 5\ncut.jpg 7\n");
  outcome = Run({"import", "--list", "photos/damaged.txt", "--out", "left", "--skip-bad"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(imports::FilesOf(dir_.File("left")).at("skipped.txt"),
              testing::AllOf(HasSubstr("photos/cut.jpg: libjpeg: Premature end"), testing::Not(HasSubstr("stays"))));
  const auto records = imports::RecordsOf(dir_.File("out"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(imports::FeatureOf<int64_t>(records[1], "image/class/label"), -6);
  EXPECT_EQ(imports::FeatureOf<std::string>(records[1], "image/filename"), "class 1/1.jpg");
}

TEST_F(ImportCommand, ShardsKeepTheirRecords) {
  MakePhotos(9);
  ASSERT_EQ(Run({"import", "photos", "--out", "old", "--untouched"}).code, 0);
  ASSERT_EQ(Run({"import", "old/data-*", "--out", "same", "--untouched"}).code, 0);
  EXPECT_EQ(imports::RecordsOf(dir_.File("same")), imports::RecordsOf(dir_.File("old")));
  ASSERT_EQ(Run({"import", "old/data-*", "--out", "small", "--longer-side", "30", "--quality", "80"}).code, 0);
  const auto records = imports::RecordsOf(dir_.File("small"));
  ASSERT_EQ(records.size(), 9u);
  for (const std::string& record : records) EXPECT_EQ(imports::FeatureOf<int64_t>(record, "image/width"), 30);
}

TEST_F(ImportCommand, ImportingAnArrayWritesItsJob) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 8, 8, 3), }";
  header.resize(117, ' ');
  header += '\n';
  dir_.Write("a.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(4 * 8 * 8 * 3, 'x'));
  const Outcome outcome = Run({"import", "a.npy", "--out", "out"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("decode_raw: UINT8 shape: [8, 8, 3]"));
  EXPECT_THAT(outcome.out, HasSubstr("batch { size: 4 last: DROP }")) << "an epoch has 4 rows";
  ExpectOk({"check-config", "out/job.textproto"});
}

// Two rows of one group, mixed as a trainer receives them.
TEST_F(ImportCommand, PreviewShowsMixedRowsAsText) {
  const auto npy = [](const std::string& descr, const std::string& shape, const std::string& data) {
    std::string header = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
    header.resize(117, ' ');
    return absl::StrCat(std::string("\x93NUMPY\x01\x00\x76\x00", 10), header, "\n", data);
  };
  dir_.Write("a.npy", npy("|u1", "2, 2, 2, 1", std::string(4, '\x10') + std::string(4, '\x30')));
  dir_.Write("l.npy", npy("|u1", "2,", std::string("\0\1", 2)));
  ASSERT_EQ(Run({"import", "a.npy", "--labels", "l.npy", "--out", "out"}).code, 0);
  dir_.Write("mix.textproto",
             absl::StrCat(*ReadWholeFile(dir_.File("out/job.textproto")), "\nmix { mixup_alpha: 1 classes: 2 }\n"));
  const Outcome shown = Run({"preview", "mix.textproto", "--out", "rows.txt"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const std::string rows = *ReadWholeFile(dir_.File("rows.txt"));
  EXPECT_THAT(rows, HasSubstr("# mixed with"));
  EXPECT_THAT(rows, HasSubstr("float32 [2]      0."));
  EXPECT_THAT(rows, Not(HasSubstr(" 16 16 16 16")));
  EXPECT_THAT(rows, Not(HasSubstr(" 48 48 48 48")));
}

TEST_F(ImportCommand, ImportsTheLabelsOfArchives) {
  imports::ZipMaker zip;
  zip.Add("x_train.npy", imports::Npy("|u1", "3, 2, 2", imports::Bytes(12)), {.deflate = true});
  zip.Add("y_train.npy", imports::Npy("|u1", "3,", imports::Bytes(3)), {});
  dir_.Write("digits.npz", zip.Bytes());
  const Outcome outcome = Run({"import", "digits.npz", "--out", "digits"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: digits.npz: rows from x_train, labels from y_train"));
  EXPECT_THAT(outcome.out, HasSubstr("3 records in 1 shard, "));
  ExpectOk({"check-config", "digits/job.textproto"});
  EXPECT_EQ(imports::RecordsOf(dir_.File("digits")).size(), 3u);
}

TEST_F(ImportCommand, EachArrayOfAnArchiveBecomesAColumn) {
  imports::ZipMaker zip;
  zip.Add("image.npy", imports::Npy("|u1", "3, 2, 2, 3", imports::Bytes(36)), {.deflate = true});
  zip.Add("mask.npy", imports::Npy("|u1", "3, 2, 2", imports::Bytes(12)), {});
  zip.Add("weight.npy", imports::Npy("<f4", "3,", imports::Bytes(12)), {});
  zip.Add("label.npy", imports::Npy("|u1", "3,", imports::Bytes(3)), {});
  dir_.Write("scenes.npz", zip.Bytes());
  const Outcome outcome = Run({"import", "scenes.npz", "--out", "scenes"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("rows from image, labels from label; columns: mask, weight\n"));
  ExpectOk({"check-config", "scenes/job.textproto"});
  ASSERT_EQ(Run({"preview", "scenes/job.textproto", "--out", "rows.txt"}).code, 0);
  const std::string rows = *ReadWholeFile(dir_.File("rows.txt"));
  for (const char* column : {"image", "mask", "weight", "label"}) EXPECT_THAT(rows, HasSubstr(column));
  EXPECT_THAT(rows, HasSubstr("uint8 [2, 2]"));
  const auto records = imports::RecordsOf(dir_.File("scenes"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(imports::FeatureOf<std::string>(records[1], "mask"), imports::Bytes(12).substr(4, 4));
}

// As scalars, 4 MiB of numbers would be 65 MiB of records.
TEST_F(ImportCommand, AnArrayOfOneDimensionNeedsAWindowLengthOrScalars) {
  dir_.Write("tokens.npy", imports::Npy("<u2", "10,", imports::Bytes(20)));
  imports::ZipMaker zip;
  zip.Add("arr_0.npy", imports::Npy("<u2", "10,", imports::Bytes(20)), {});
  dir_.Write("tokens.npz", zip.Bytes());
  for (const char* source : {"tokens.npy", "tokens.npz"}) {
    const Outcome asked = Run({"import", source, "--out", "out"});
    EXPECT_EQ(asked.code, 2);
    EXPECT_THAT(asked.err,
                HasSubstr("has one dimension, of 10 numbers: --window N makes a record of each N, --scalars"));
    EXPECT_FALSE(std::filesystem::exists(dir_.File("out")));
  }
  const Outcome windows = Run({"import", "tokens.npy", "--out", "windows", "--window", "4"});
  ASSERT_EQ(windows.code, 0) << windows.err;
  EXPECT_THAT(windows.err, HasSubstr("note: 2 numbers at the end fill no window and are left out"));
  EXPECT_THAT(windows.out, HasSubstr("decode_raw: UINT16 shape: [4] }"));
  const auto records = imports::RecordsOf(dir_.File("windows"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(imports::FeatureOf<std::string>(records[1], "data"), imports::Bytes(20).substr(8, 8));
  ASSERT_EQ(Run({"import", "tokens.npy", "--out", "scalars", "--scalars"}).code, 0);
  EXPECT_EQ(imports::RecordsOf(dir_.File("scalars")).size(), 10u);
  EXPECT_THAT(Run({"import", "tokens.npy", "--out", "out", "--window", "11"}).err,
              HasSubstr("has 10 numbers, fewer than a window of 11"));
  dir_.Write("rows.npy", imports::Npy("|u1", "2, 3", imports::Bytes(6)));
  EXPECT_THAT(Run({"import", "rows.npy", "--out", "out", "--window", "3"}).err, HasSubstr("this has rows of [3]"));
  EXPECT_THAT(Run({"import", "rows.npy", "--out", "out", "--scalars"}).err, HasSubstr("has rows of several numbers"));
}

TEST_F(ImportCommand, AcceptsFlatFoldersListsWithCommasAndStrayFiles) {
  MakePhotos(3);
  dir_.Write("photos/class 0/notes.txt", "no image at all");
  Outcome outcome = Run({"import", "photos", "--out", "all"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--skip-other"));
  outcome = Run({"import", "photos", "--out", "all", "--skip-other"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("left out 1 file without an image, the first is "));
  EXPECT_THAT(outcome.out, HasSubstr("3 records in 1 shard, "));
  outcome = Run({"import", "photos/class 1", "--out", "flat"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("has no class folders: the records get no label"));
  EXPECT_THAT(outcome.out, HasSubstr("1 record in 1 shard, "));
  EXPECT_FALSE(
      imports::FeatureOf<int64_t>(imports::RecordsOf(dir_.File("flat")).at(0), "image/class/label").has_value());
  dir_.Write("list.csv", "photos/class 1/1.jpg,7\n");
  outcome = Run({"import", "--list", "list.csv", "--out", "listed"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(imports::FeatureOf<int64_t>(imports::RecordsOf(dir_.File("listed")).at(0), "image/class/label"), 7);
}

// One shard is finished when the next item ends the run.
TEST_F(ImportCommand, AFailedRunReportsItsFinishedShards) {
  MakePhotos(9);
  dir_.Write("photos/class 2/z.jpg", "\xFF\xD8\xFF damaged");
  const Outcome outcome =
      Run({"import", "photos", "--out", "out", "--order", "sorted", "--shard-size", "30KB", "--threads", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("; 1 finished shard is in "));
  EXPECT_THAT(outcome.err, HasSubstr("out, the same command continues after it"));
}

TEST_F(ImportCommand, BakingWritesTheJobOfTheRows) {
  MakePhotos(6);
  ASSERT_EQ(Run({"import", "photos", "--out", "shards"}).code, 0);
  ASSERT_EQ(Run({"init", "shards", "--out", "job.textproto"}).code, 0);
  for (const char* format : {"raw", "jpeg"}) {
    const Outcome outcome =
        Run({"bake", "job.textproto", "--out", format, "--variants", "3", "--format", format, "--shard-size", "200KB"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("18 records"));
    EXPECT_THAT(outcome.out, HasSubstr(absl::StrCat("next: penstock submit ", dir_.File(format), "/job.textproto\n")));
    const std::string job = absl::StrCat(format, "/job.textproto");
    ExpectOk({"check-config", job});
    if (format == std::string("jpeg")) ExpectOk({"preview", job, "--out", "sheet.png"});
  }
  const std::string typo = *ReadWholeFile(dir_.File("job.textproto")) +
                           "features { key: \"image/class/labl\" type: INT64 variable_length: true }\n";
  dir_.Write("typo.textproto", typo);
  const Outcome refused = Run({"bake", "typo.textproto", "--out", "typo"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("has a key \"image/class/labl\" (did you mean 'image/class/label'?)"));
  EXPECT_EQ(Run({"bake", "typo.textproto", "--out", "typo", "--allow-missing"}).code, 0);
}

TEST_F(ImportCommand, AnImpossibleImportReportsTheReasonAndLeavesNoFiles) {
  MakePhotos(3);
  dir_.Write("flat/1.jpg", "x");
  dir_.Write("bad.npy", "x");
  dir_.Write("list.txt", "a.jpg\n");
  dir_.Write("missing.txt", "gone.jpg 1\n");
  dir_.Write("labels.txt", "nobody 1\n");
  struct Case {
    std::vector<std::string> args;
    int code;
    std::string message;
  };
  const Case cases[] = {
      {{"import", "--out", "out"}, 2, "SOURCE is missing"},
      {{"import", "photos"}, 2, "--out DIR is missing"},
      {{"import", "photos", "flat", "--out", "out"}, 2, "one folder"},
      {{"import", "photos", "--list", "list.txt", "--out", "out"}, 2, "one of the two"},
      {{"import", "photos", "--out", "photos/out"}, 2, "is inside the source"},
      {{"import", "photos", "--out", "out", "--quality", "80"}, 2, "--quality goes with --longer-side"},
      {{"import", "photos", "--out", "out", "--longer-side", "9", "--quality", "0"}, 2, "1 to 100"},
      {{"import", "photos", "--out", "out", "--order", "any"}, 2, "shuffled or sorted"},
      {{"import", "photos", "--out", "out", "--untouched", "--restart-indexed"}, 2, "one of the two"},
      {{"import", "photos", "--out", "out", "--image-key", "x"}, 2, "no meaning for class folders"},
      {{"import", "photos", "--out", "out", "--shard-size", "0"}, 1, "0 bytes"},
      {{"import", "photos", "--out", "out", "--prefix", "a/b"}, 1, "the prefix 'a/b'"},
      {{"import", "photos", "--out", "out", "--labels", "labels.txt"}, 1, "has no number"},
      {{"import", "photos", "--out", "out", "--labels", "none.txt"}, 1, "none.txt"},
      {{"import", "none", "--out", "out"}, 1, "none"},
      {{"import", "flat", "--out", "out"}, 1, "no class folders"},
      {{"import", "flat/1.jpg", "--out", "out"}, 1, "flat/1.jpg"},
      {{"import", "bad.npy", "--out", "out"}, 1, "no .npy header"},
      {{"import", "--list", "list.txt", "--out", "out"}, 1, "list.txt:1"},
      {{"import", "--list", "missing.txt", "--out", "out"}, 1, "gone.jpg"},
      {{"import", "photos", "--out", "flat"}, 1, "is not empty ('1.jpg')"},
      {{"bake", "--out", "out"}, 2, "JOB.textproto is missing"},
      {{"bake", "none.textproto", "--out", "out"}, 1, "none.textproto"},
      {{"bake", "job.textproto", "--out", "out", "--variants", "0"}, 2, "must be at least 1"},
      {{"bake", "job.textproto", "--out", "out", "--quality", "50"}, 2, "goes with --format jpeg"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Run(c.args);
    EXPECT_EQ(outcome.code, c.code) << c.message;
    EXPECT_THAT(outcome.err, HasSubstr(c.message));
    EXPECT_THAT(outcome.err, Not(HasSubstr("invariant")));
    EXPECT_FALSE(std::filesystem::exists(dir_.File("out"))) << c.message;
  }
  EXPECT_EQ(imports::FilesOf(dir_.File("flat")).size(), 1u);
}

TEST_F(ImportCommand, HelpShowsUsageAndFlags) {
  for (const char* name : {"import", "bake"}) {
    const Outcome outcome = Run({name, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr(absl::StrCat("  penstock ", name, " ")));
    EXPECT_THAT(outcome.out, HasSubstr("--shard-size"));
  }
}

}  // namespace
}  // namespace penstock::cli
