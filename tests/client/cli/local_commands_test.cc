// init, preview, index, verify, check-config as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "pipeline/records/example_builder.h"
#include "tests/client/cli/command_testing.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class LocalCommands : public CommandTest {
 protected:
  // A record of a table: two numbers and a text.
  static std::string Entry(int i) {
    records::ExampleBuilder example;
    example.FloatList("dense", std::vector<float>{1.5f, static_cast<float>(i)});
    example.Int64("label", i);
    example.Bytes("city", absl::StrCat("town ", i));
    return example.Serialize();
  }
  static std::vector<std::string> Entries(int count) {
    std::vector<std::string> entries;
    for (int i = 0; i < count; ++i) entries.push_back(Entry(i));
    return entries;
  }
  std::string Content(const std::string& name) { return ReadWholeFile(dir_.File(name)).value_or("none"); }
};

TEST_F(LocalCommands, PreviewShowsAJobWithoutImagesAsText) {
  WriteShard("tab.tfrecord", Entries(12));
  const Outcome made = Run({"init", "tab.tfrecord", "--out", "tab.textproto"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(Content("tab.textproto"), HasSubstr("name: \"tab\""));
  EXPECT_THAT(made.out, HasSubstr("penstock preview tab.textproto"));
  EXPECT_THAT(made.out, Not(HasSubstr("--out")));
  const Outcome shown = Run({"preview", "tab.textproto", "--records", "2"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("tab.tfrecord #"));
  EXPECT_THAT(shown.out, HasSubstr("dense"));
  EXPECT_THAT(shown.out, HasSubstr("float32 [2]"));
  EXPECT_THAT(shown.out, HasSubstr("1.5"));
  EXPECT_THAT(shown.out, HasSubstr("\"town "));
  ExpectOk({"preview", "tab.textproto", "--records", "2", "--out", "rows.txt"});
  EXPECT_EQ(Content("rows.txt"), shown.out);
  // The command shows the rows and reports that there is no sheet.
  const Outcome sheet = Run({"preview", "tab.textproto", "--out", "sheet.png"});
  EXPECT_EQ(sheet.code, 1);
  EXPECT_THAT(sheet.out, HasSubstr("town"));
  EXPECT_THAT(sheet.err, HasSubstr("--out sheet.png: the job has no pictures"));
}

TEST_F(LocalCommands, PreviewAndBenchWarnOfDroppedRows) {
  WriteShard("tab.tfrecord", Entries(12));
  dir_.Write("much.textproto", absl::StrCat("name: \"much\" dataset { files: \"", dir_.File("tab.tfrecord"),
                                            "\" } features { key: \"label\" type: INT64 } batch { size: 9 }"));
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"preview", "much.textproto"},
                                             {"preview", "much.textproto", "--out", "rows.txt"},
                                             {"bench", "much.textproto", "--seconds", "1", "--no-stages"},
                                             {"bench", "much.textproto", "--seconds", "1", "--no-stages", "--json"}}) {
    const Outcome done = Run(command);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("warning: batch: an epoch has 12 rows: 1 step of 9, 3 rows (25.0 %) are dropped"))
        << command[0];
  }
}

// The error of a step that does not fit names the bytes that the budget has for rows.
TEST_F(LocalCommands, BenchCountsTheMemoryOfADiskCacheInItsBudget) {
  constexpr uint64_t kMiB = 1 << 20;
  WriteShard("big.tfrecord",
             std::vector<std::string>(8, records::ExampleBuilder().Bytes("x", std::string(8 * kMiB, 'x')).Serialize()));
  dir_.Write("big.textproto", absl::StrCat("name: \"big\" dataset { files: \"", dir_.File("big.tfrecord"),
                                           "\" } features { key: \"x\" type: BYTES decode_raw: UINT8 shape: ", 8 * kMiB,
                                           " } batch { size: 8 }"));
  std::vector<std::string> bench = {"bench", "big.textproto",   "--no-stages", "--threads", "1", "--seconds",
                                    "1",     "--memory-budget", "16MiB"};
  const Outcome without = Run(bench);
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.err, HasSubstr(absl::StrCat(15 * kMiB, " bytes that the budget has for rows")));
  bench.insert(bench.end(), {"--disk-cache", "cached"});
  const Outcome with = Run(bench);
  EXPECT_EQ(with.code, 1);
  EXPECT_THAT(with.err, HasSubstr(absl::StrCat(15 * kMiB * 61 / 64, " bytes that the budget has for rows")));
}

// Without the check a ragged column would silently be empty.
TEST_F(LocalCommands, AMissingKeyIsRejectedUnlessAllowed) {
  WriteShard("tab.tfrecord", Entries(12));
  dir_.Write("typo.textproto",
             absl::StrCat("name: \"typo\" dataset { files: \"", dir_.File("tab.tfrecord"),
                          "\" } features { key: \"dens\" type: FLOAT variable_length: true }", " batch { size: 4 }"));
  for (std::vector<std::string> command : std::vector<std::vector<std::string>>{
           {"preview", "typo.textproto"}, {"bench", "typo.textproto", "--seconds", "1", "--no-stages"}}) {
    const Outcome refused = Run(command);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("features[0].key: none of the first 12 records of 1 shard"));
    EXPECT_THAT(refused.err, HasSubstr("has a key \"dens\" (did you mean 'dense'?); they have: city, dense, label"));
    command.emplace_back("--allow-missing");
    ExpectOk(command);
  }
}

TEST_F(LocalCommands, CheckConfigWarnsOfBoxesThatDoNotFollowTheImage) {
  dir_.Write(
      "boxes.textproto",
      "name: \"boxes\" dataset { files: \"x\" } features { key: \"image/encoded\" column: \"image\" type: BYTES }"
      "features { key: \"image/object/bbox/xmin\" type: FLOAT variable_length: true } ops { decode_image { } }"
      "ops { random_resized_crop { height: 8 width: 8 } } batch { size: 4 }");
  const Outcome checked = Run({"check-config", "boxes.textproto"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.err, HasSubstr("warning: features[1]: 'image/object/bbox/xmin' is named like boxes"));
  EXPECT_THAT(Run({"check-config", "boxes.textproto", "--json"}).out, HasSubstr("is named like boxes"));
}

TEST_F(LocalCommands, InitSkipsAndReportsBadRecords) {
  std::vector<std::string> records = Entries(12);
  records[3] = "no example at all \xff\xff";
  WriteShard("tab-00000-of-00002", records);
  WriteShard("tab-00001-of-00002", Entries(12));
  std::string cut = Content("tab-00000-of-00002");
  dir_.Write("tab-00002-of-00002", cut.substr(0, cut.size() - 5));
  const Outcome made = Run({"init", "tab-*", "--out", "job.textproto"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("tab-00000-of-00002, record 3: "));
  EXPECT_THAT(made.err, HasSubstr("tab-00002-of-00002: "));
  EXPECT_THAT(Content("job.textproto"), HasSubstr("from the first 23 records"));
  EXPECT_THAT(Content("job.textproto"), HasSubstr("name: \"tab\""));
}

TEST_F(LocalCommands, InitReportsTheDefaultsThatItAdds) {
  std::vector<std::string> records = Entries(10);
  records::ExampleBuilder more;
  more.FloatList("dense", std::vector<float>{1.5f, 2});
  more.Int64("label", 1);
  more.Bytes("city", "x");
  more.Int64("age", 7);
  records.push_back(more.Serialize());
  WriteShard("tab.tfrecord", records);
  const Outcome made = Run({"init", "tab.tfrecord"});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.err, HasSubstr("10 of 11 records have no 'age': they get the default 0"));
  EXPECT_THAT(made.out, HasSubstr("# 10 of 11 records have none"));
}

TEST_F(LocalCommands, InitPrintsTheRangeOfIntegerLabels) {
  WriteShard("tab.tfrecord", Entries(12));
  const Outcome made = Run({"init", "tab.tfrecord", "--out", "tab.textproto"});
  EXPECT_THAT(made.out, HasSubstr("label: integers from 0 to 11 in the first 12 records\n"));
  EXPECT_THAT(Content("tab.textproto"),
              HasSubstr("features { key: \"label\" column: \"label\" type: INT64 }  # 0 to 11 so far\n"));
  EXPECT_THAT(Run({"init", "tab.tfrecord", "--json"}).out,
              HasSubstr("\"label_range\": \"label: integers from 0 to 11 in the first 12 records\""));
}

TEST_F(LocalCommands, ListsOpsWithTheirFieldsAndDefaults) {
  const Outcome all = Run({"ops"});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out,
              HasSubstr("random_resized_crop     height, width, scale_min: 0.08, scale_max: 1, ratio_min: 3/4,"));
  EXPECT_THAT(all.out, HasSubstr("random_horizontal_flip  probability: 0.5"));
  EXPECT_THAT(all.out, HasSubstr("brightness              min: 1, max: 1, probability: 1"));
  EXPECT_THAT(all.out, HasSubstr("rotate                  min_degrees: 0, max_degrees: 0, filter: BILINEAR, fill: 0,"));
  const Outcome one = Run({"ops", "random_resized_crop"});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("torchvision.transforms.RandomResizedCrop"));
  EXPECT_THAT(one.out, ContainsRegex("height +uint32 +\\(required\\)"));
  EXPECT_THAT(one.out, ContainsRegex("scale_min +float +0.08 +fraction of the area; 0.08 by default"));
  EXPECT_THAT(one.out, ContainsRegex("resize +PIL \\| OPENCV_LINEAR \\| OPENCV_AREA \\| TF_BILINEAR +PIL"));
  EXPECT_THAT(Run({"ops", "random_crop", "--json"}).out, HasSubstr("\"name\": \"padding\", \"type\": \"uint32\""));
  const Outcome none = Run({"ops", "random_corp"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no op 'random_corp' (did you mean 'random_crop'?)"));
}

TEST_F(LocalCommands, InitReportsItsResultAsJson) {
  WriteShard("tab.tfrecord", Entries(12));
  const Outcome made = Run({"init", "tab.tfrecord", "--out", "job.textproto", "--json"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\"out\": \"job.textproto\""));
  EXPECT_THAT(made.out, HasSubstr("\"name\": \"tab\""));
  EXPECT_THAT(made.out, HasSubstr("\"records\": 12"));
  EXPECT_THAT(made.out, HasSubstr("\"notes\": []"));
}

TEST_F(LocalCommands, EveryCommandAcceptsAFolderForItsFiles) {
  WriteShard("shards/a.tfrecord", Entries(12));
  WriteShard("shards/b.tfrecord", Entries(12));
  EXPECT_THAT(Run({"index", "shards"}).out, HasSubstr("24 records in 2 shards"));
  EXPECT_THAT(Run({"index", "shards/"}).out, HasSubstr("24 records in 2 shards"));
  EXPECT_THAT(Run({"verify", "shards"}).out, HasSubstr("2 files, 24 readable records"));
  EXPECT_THAT(Run({"verify", "shards", "--data-root", "."}).out, HasSubstr("2 files, 24 readable records"));
}

TEST_F(LocalCommands, PreviewRejectsASheetOfAnUnknownFileType) {
  WriteShard("tab.tfrecord", Entries(3));
  for (const char* name : {"x.jpg", "sheet"}) {
    const Outcome refused = Run({"preview", "tab.tfrecord", "--out", name});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(absl::StrCat("--out ", name, ": a sheet is a .png, rows of text a .txt")));
    EXPECT_FALSE(std::filesystem::exists(dir_.File(name)));
  }
}

TEST_F(LocalCommands, AFileThatIsNoShardIsReportedWithItsType) {
  dir_.Write("photo.jpg", image::MakeJpeg({.width = 40, .height = 30}));
  dir_.Write("data.zip", std::string("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0", 14) + std::string(60, 'x'));
  for (const auto& [file, kind] : {std::pair("photo.jpg", "a JPEG image"), std::pair("data.zip", "a zip archive")}) {
    for (const char* command : {"init", "index", "verify"}) {
      const Outcome refused = Run({command, file});
      EXPECT_EQ(refused.code, 1) << command;
      EXPECT_THAT(refused.out + refused.err,
                  HasSubstr(absl::StrCat(file, ": this is ", kind, ", neither a TFRecord nor a tar shard")));
      EXPECT_THAT(refused.out + refused.err, HasSubstr("penstock import"));
    }
  }
}

TEST_F(LocalCommands, UnsupportedUrlsAreRejectedWithARemedy) {
  for (const char* command : {"init", "index", "verify", "bench"}) {
    const Outcome refused = Run({command, "hdfs://node/train-*"});
    EXPECT_EQ(refused.code, 1) << command;
    EXPECT_THAT(refused.err, HasSubstr("\"hdfs://node/train-*\" is a URL"));
    EXPECT_THAT(refused.err, HasSubstr("mount"));
  }
  EXPECT_THAT(Run({"import", "hdfs://node/photos", "--out", "x"}).err, HasSubstr("\"hdfs://node/photos\" is a URL"));
}

TEST_F(LocalCommands, CheckConfigReadsStandardInputAndWritesJson) {
  dir_.Write("stdin.txt", "name: \"a job\"\ndataset { files: \"x\" }\n");
  const Outcome checked = Run({"check-config", "-", "--kind", "job", "--json"});
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.out, HasSubstr("\"ok\": false"));
  EXPECT_THAT(checked.out, HasSubstr("\"line\": 1, \"field\": \"name\""));
  WriteShard("tab.tfrecord", Entries(12));
  ASSERT_EQ(Run({"init", "tab.tfrecord", "--out", "job.textproto"}).code, 0);
  const Outcome good = Run({"check-config", "job.textproto", "--json"});
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.out, HasSubstr("\"ok\": true"));
  EXPECT_THAT(good.out, HasSubstr("\"kind\": \"job\""));
  EXPECT_THAT(good.out, HasSubstr("\"mistakes\": []"));
}

TEST_F(LocalCommands, CheckConfigChecksDataRootsToo) {
  WriteShard("tab.tfrecord", Entries(12));
  ASSERT_EQ(Run({"init", "tab.tfrecord", "--out", "job.textproto"}).code, 0);
  ExpectOk({"check-config", "job.textproto", "--data-root", "."});
  ExpectOk({"check-config", "job.textproto", "--data-root", "all=/"});
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"/", "data root \"/\" has no name; write name=path"},
      {"nowhere", "data root \"nowhere\": there is no such folder; make it, or name another one"},
      {"tab.tfrecord", "data root \"tab.tfrecord\" is no folder"}};
  for (const auto& [root, message] : wrong) {
    const Outcome refused = Run({"check-config", "job.textproto", "--data-root", root});
    EXPECT_EQ(refused.code, 1) << root;
    EXPECT_EQ(refused.err, absl::StrCat("penstock check-config: ", message, "\n"));
  }
}

TEST_F(LocalCommands, AFolderInsteadOfAJobFileIsRejectedWithTheCommandThatWritesAJob) {
  WriteShard("data/tab.tfrecord", Entries(2));
  for (const char* command : {"submit", "check-config"}) {
    EXPECT_EQ(Run({command, "data"}).err,
              absl::StrCat("penstock ", command,
                           ": data: a job or configuration file is expected; this is a folder (`penstock init data "
                           "--out job.textproto` writes a job for the shards or images in it)\n"));
  }
}

TEST_F(LocalCommands, InitWritesAnEvaluation) {
  WriteShard("tab.tfrecord", Entries(12));
  ExpectOk({"init", "tab.tfrecord", "--eval", "--out", "eval.textproto"});
  EXPECT_THAT(Content("eval.textproto"), HasSubstr("name: \"tab-eval\""));
  EXPECT_THAT(Content("eval.textproto"), HasSubstr("order { shuffle: NONE }"));
  EXPECT_THAT(Content("eval.textproto"), HasSubstr("last: PAD"));
  ExpectOk({"init", "tab.tfrecord", "--eval", "--name", "held-out", "--out", "named.textproto"});
  EXPECT_THAT(Content("named.textproto"), HasSubstr("name: \"held-out\""));
}

// Errors in files are reported before any network call.
TEST_F(LocalCommands, AnInvalidStateFileIsRejected) {
  const auto refusal = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"read", "train", "--coordinator", "localhost:1"});
    const Outcome refused = Run(flags);
    EXPECT_NE(refused.code, 0);
    return refused.err;
  };
  const auto state = [](const std::string& epoch) {
    return absl::StrCat("penstock-state version=1 epoch=", epoch,
                        " position=0 order=0123456789abcdef pipeline=0123456789abcdef\n");
  };
  dir_.Write("empty", "");
  EXPECT_THAT(refusal({"--state", "empty"}),
              HasSubstr("--state empty: the file is empty, not a state; remove it to start from the beginning"));
  dir_.Write("absurd", state("999999999999"));
  EXPECT_THAT(refusal({"--state", "absurd"}), HasSubstr("--state absurd: epoch 999999999999"));
  dir_.Write("text", "hello\n");
  EXPECT_THAT(refusal({"--state", "text"}), HasSubstr("--state text: not a session state"));
  dir_.Write("good", state("3"));
  EXPECT_THAT(refusal({"--state", "good", "--until-epoch", "2"}),
              HasSubstr("--until-epoch 2: --state good is in epoch 3; there is nothing left to read"));
  EXPECT_THAT(refusal({"--epoch", "2", "--until-epoch", "2"}), HasSubstr("--until-epoch 2: --epoch 2"));
  EXPECT_THAT(refusal({"--until-epoch", "2", "--epochs", "1"}), HasSubstr("give one of the two"));
}

TEST_F(LocalCommands, ReadWritesOnlyIntoAnEmptyFolder) {
  dir_.Write("used/000000.image.npy", "an earlier run wrote this");
  const Outcome refused = Run({"read", "train", "--out", "used", "--coordinator", "localhost:1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("--out used: the folder is not empty ('000000.image.npy' is in it); take another"));
}

TEST_F(LocalCommands, InitReportsRecordsWithoutFeatures) {
  WriteShard("empty.tfrecord", {"", ""});
  const Outcome refused = Run({"init", "empty.tfrecord"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("empty.tfrecord' (2) are Examples without a feature"));
}

TEST_F(LocalCommands, CountsOfZeroAreRejected) {
  for (const char* flag : {"--epochs", "--steps"}) {
    const Outcome refused = Run({"read", "train", flag, "0", "--coordinator", "localhost:1"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(absl::StrCat(flag, " must be at least 1")));
  }
}

TEST_F(LocalCommands, ReadRemovesTheTemporaryStateOfAKilledRead) {
  dir_.Write("state", "");
  dir_.Write("state.penstock-tmp.a1B2c3", "half");
  dir_.Write("state.tmp.backup", "a user's own");
  Run({"read", "train", "--state", "state", "--coordinator", "localhost:1", "--timeout", "1"});
  EXPECT_FALSE(std::filesystem::exists(dir_.File("state.penstock-tmp.a1B2c3")));
  EXPECT_TRUE(std::filesystem::exists(dir_.File("state.tmp.backup")));
}

}  // namespace
}  // namespace penstock::cli
