// `penstock select` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "pipeline/records/example_builder.h"
#include "tests/client/cli/command_testing.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SelectCommand : public CommandTest {
 protected:
  static std::string Entry(int i) {
    const int64_t tokens[] = {i, i + 1, i + 2};
    records::ExampleBuilder example;
    example.Int64("label", i).Float("score", static_cast<float>(i) / 4).Bytes("city", absl::StrCat("town ", i));
    example.Int64List("tokens", std::span<const int64_t>(tokens).first(static_cast<size_t>(i % 4)));
    if (i % 2 == 0) example.Bytes("image/key", absl::StrCat("k", i));
    return example.Serialize();
  }
  static std::vector<std::string> Entries(int first, int count) {
    std::vector<std::string> entries;
    for (int i = first; i < first + count; ++i) entries.push_back(Entry(i));
    return entries;
  }
  std::string ErrorOf(const std::vector<std::string>& args, int code = 1) {
    const Outcome outcome = Run(args);
    EXPECT_EQ(outcome.code, code) << outcome.out;
    return outcome.err;
  }
};

TEST_F(SelectCommand, CountsMatchesAndShowsTheFirst) {
  WriteShard("data/a.tfrecord", Entries(0, 12));
  WriteShard("data/b.tfrecord", Entries(12, 28));
  const Outcome found = Run({"select", "data/*.tfrecord", "--filter", "label >= 10 and label < 30", "--examples", "3"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(found.err, "");
  EXPECT_EQ(found.out, absl::StrCat("20 of 40 records in 2 files match (50.0 %)\n"
                                    "  ",
                                    dir_.File("data/a.tfrecord"),
                                    ", record 10: label = 10\n"
                                    "  ",
                                    dir_.File("data/a.tfrecord"),
                                    ", record 11: label = 11\n"
                                    "  ",
                                    dir_.File("data/b.tfrecord"), ", record 0: label = 12\n"));
  EXPECT_EQ(Run({"select", "data/a.tfrecord", "data/b.tfrecord", "--filter", "label < 0", "--threads", "2"}).out,
            "0 of 40 records in 2 files match (0.0 %)\n");
  const std::string values = Run({"select", "data", "--filter",
                                  "len(tokens) > 2 and has(city) and not has(col(\"image/key\"))", "--examples", "1"})
                                 .out;
  EXPECT_THAT(values, StartsWith("10 of 40 records in 2 files match (25.0 %)\n"));
  EXPECT_THAT(values, HasSubstr("record 3: tokens = 3 4 5, city = \"town 3\", image/key = none\n"));
}

TEST_F(SelectCommand, PrintsJson) {
  WriteShard("a.tfrecord", Entries(0, 8));
  const Outcome found = Run({"select", "a.tfrecord", "--filter", "score == 0.5 or label == 7", "--json"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, StartsWith("{\"files\": 1, \"records\": 8, \"matches\": 2, \"matches_by_step\": [2], "
                                    "\"share\": 0.25, \"bad_records\": 0, "));
  EXPECT_THAT(found.out, HasSubstr("\"record\": 2, \"values\": {\"score\": \"0.5\", \"label\": \"2\"}}"));
  EXPECT_THAT(found.out, HasSubstr("\"first_bad_records\": [], \"unreadable_files\": []}"));
}

TEST_F(SelectCommand, CountsAndListsBadRecords) {
  std::vector<std::string> records = Entries(0, 6);
  records[1] = "no example at all \xff\xff";
  records[2] = records::ExampleBuilder().Int64("label", std::numeric_limits<int64_t>::max()).Serialize();
  records[4] = records::ExampleBuilder().Bytes("label", "four").Serialize();
  WriteShard("a.tfrecord", records);
  std::string damaged = *ReadWholeFile(dir_.File("a.tfrecord"));
  damaged[damaged.size() - 6] ^= 1;  // in the data of the last record
  dir_.Write("a.tfrecord", damaged);
  const Outcome found = Run({"select", "a.tfrecord", "--filter", "label * 2 >= 6"});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out, StartsWith("1 of 6 records in 1 file match (16.7 %)\n"));
  EXPECT_THAT(found.err, HasSubstr("a.tfrecord, record 1: "));
  EXPECT_THAT(found.err,
              HasSubstr("a.tfrecord, record 2: overflow of INT64: 9223372036854775807 * 2, in `label * 2`\n"));
  EXPECT_THAT(found.err,
              HasSubstr("a.tfrecord, record 4: the feature 'label' is BYTES here, but INT64 in the first records\n"));
  EXPECT_THAT(found.err, HasSubstr("a.tfrecord, record 5 at offset "));
  EXPECT_THAT(found.err, HasSubstr("penstock select: 4 of 6 records are bad, and counted as no match\n"));
  const std::string json = Run({"select", "a.tfrecord", "--filter", "label * 2 >= 6", "--json"}).out;
  EXPECT_THAT(json, HasSubstr("\"bad_records\": 4"));
  EXPECT_THAT(json, HasSubstr("\"record\": 2, \"error\": "));
}

TEST_F(SelectCommand, AFileThatCannotBeReadDoesNotStopTheOthers) {
  WriteShard("a.tfrecord", Entries(0, 4));
  const std::string whole = *ReadWholeFile(dir_.File("a.tfrecord"));
  dir_.Write("b.tfrecord", whole.substr(0, whole.size() - 5));
  const Outcome found = Run({"select", "*.tfrecord", "--filter", "label > 0"});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out, StartsWith("3 of 4 records in 1 file match (75.0 %)\n"));
  EXPECT_THAT(found.err, HasSubstr("b.tfrecord: record 3 at offset "));
  EXPECT_THAT(found.err, HasSubstr("penstock select: 1 of 2 files cannot be read\n"));
}

TEST_F(SelectCommand, ShowsThePlaceOfAMistake) {
  WriteShard("a.tfrecord", Entries(0, 4));
  EXPECT_EQ(ErrorOf({"select", "a.tfrecord", "--filter", "lable > 3"}),
            "penstock select: --filter: there is no feature 'lable' (did you mean 'label'?); the features are city, "
            "image/key, label, score, tokens\n  lable > 3\n  ^\n");
  EXPECT_THAT(ErrorOf({"select", "a.tfrecord", "--filter", "key == 3"}),
              HasSubstr("there is no feature 'key' (did you mean col('image/key')?); "));
  EXPECT_EQ(ErrorOf({"select", "a.tfrecord", "--filter", "score > 1 and city > 2"}),
            "penstock select: --filter: '>' cannot compare STRING with INT64\n"
            "  score > 1 and city > 2\n                     ^\n");
  EXPECT_THAT(ErrorOf({"select", "a.tfrecord", "--filter", "tokens > 1"}),
              HasSubstr("record 2: the feature 'tokens' has 2 values in `tokens`; only a feature with one value"));
}

TEST_F(SelectCommand, ConflictingTypesNameBothFiles) {
  WriteShard("a.tfrecord", {records::ExampleBuilder().Int64("label", 1).Bytes("city", "x").Serialize()});
  WriteShard("b.tfrecord", {records::ExampleBuilder().Bytes("label", "one").Bytes("city", "x").Serialize()});
  EXPECT_EQ(ErrorOf({"select", "*.tfrecord", "--filter", "label > 3"}),
            absl::StrCat("penstock select: --filter: the feature 'label' is INT64 in ", dir_.File("a.tfrecord"),
                         " and BYTES in ", dir_.File("b.tfrecord"), "; select from files in which it has one type\n"));
  ExpectOk({"select", "*.tfrecord", "--filter", "city == \"x\""});
}

TEST_F(SelectCommand, ReadsSamplesOfTarArchives) {
  std::string archive;
  for (int i = 0; i < 4; ++i) {
    const std::string key = absl::StrCat("s/", i);
    sources::AppendTarMember(key + ".cls", absl::StrCat(i), &archive);
    sources::AppendTarMember(key + ".jpg", "\xff\xd8" + std::string(99998, 'x'), &archive);
    sources::AppendTarMember(key + ".json", absl::StrCat("{\"width\": ", 100 * i, "}"), &archive);
    sources::AppendTarMember(key + ".txt", absl::StrCat("caption ", i), &archive);
  }
  archive.append(1024, '\0');
  dir_.Write("a.tar", archive);
  EXPECT_EQ(Run({"select", "a.tar", "--filter", "cls >= 2 and startswith(txt, \"cap\") and __key__ != \"s/3\""}).out,
            absl::StrCat("1 of 4 records in 1 file match (25.0 %)\n  ", dir_.File("a.tar"),
                         ", record 2: cls = 2, txt = \"caption 2\", __key__ = \"s/2\"\n"));
  EXPECT_THAT(Run({"select", "a.tar", "--filter", "bytes(jpg) == 100000"}).out,
              AllOf(StartsWith("4 of 4 records"), HasSubstr("jpg = (100000 bytes)\n")));
  // A job states the types of fields in JSON members.
  dir_.Write("job.textproto", absl::StrCat("name: \"a\" dataset { files: \"", dir_.File("a.tar"),
                                           "\" } features { key: \"json/width\" type: INT64 } batch { size: 2 }"));
  EXPECT_THAT(Run({"select", "job.textproto", "--filter", "col(\"json/width\") >= 200"}).out,
              StartsWith("2 of 4 records in 1 file match (50.0 %)\n"));
  WriteShard("b.tfrecord", Entries(0, 4));
  EXPECT_THAT(ErrorOf({"select", "a.tar", "b.tfrecord", "--filter", "cls >= 2"}),
              HasSubstr("b.tfrecord is a TFRecord file, but "));
}

TEST_F(SelectCommand, ReadsSequenceExamplesAndCompressedShards) {
  const std::string_view entry[] = {"ab", "cdef"};
  std::vector<std::string> records;
  for (int i = 0; i < 5; ++i) {
    records::SequenceExampleBuilder builder;
    builder.context().Int64("id", i);
    builder.List("frames");
    for (int n = 0; n < i; ++n) builder.BytesEntry(entry);
    records.push_back(builder.Serialize());
  }
  WriteShard("a.tfrecord", records);
  EXPECT_THAT(Run({"select", "a.tfrecord", "--filter", "len(frames) >= 6 and bytes(frames) == id * 6"}).out,
              StartsWith("2 of 5 records"));
  ASSERT_EQ(std::system(absl::StrCat("cd '", dir_.path(), "' && gzip a.tfrecord").c_str()), 0);
  EXPECT_THAT(Run({"select", "a.tfrecord.gz", "--filter", "len(frames) >= 6"}).out, StartsWith("2 of 5 records"));
}

TEST_F(SelectCommand, TakesTheDataSetOfAJob) {
  WriteShard("a.tfrecord", Entries(0, 4));
  ASSERT_EQ(Run({"init", "a.tfrecord", "--out", "job.textproto"}).code, 0);
  EXPECT_THAT(Run({"select", "job.textproto", "--filter", "label % 2 == 0"}).out, StartsWith("2 of 4 records"));
  EXPECT_THAT(ErrorOf({"select", "job.textproto", "a.tfrecord", "--filter", "label == 0"}, 2),
              HasSubstr("one job file, or any number of globs and folders, is expected"));
  EXPECT_THAT(ErrorOf({"select", "jop.textproto", "--filter", "label == 0"}),
              HasSubstr("there is no file jop.textproto (did you mean 'job.textproto'?)"));
  dir_.Write("raw.textproto",
             absl::StrCat(
                 "name: \"a\" dataset { files: \"", dir_.File("a.tfrecord"),
                 "\" format: RAW } features { key: \"x\" type: BYTES decode_raw: UINT8 shape: 4 } batch { size: 2 }"));
  EXPECT_THAT(ErrorOf({"select", "raw.textproto", "--filter", "label == 0"}),
              HasSubstr("records of RAW have no features to select by"));
}

// Writes a job for data/*.tfrecord with these steps.
std::string JobWith(const std::string& folder, const std::string& steps) {
  return absl::StrCat("name: \"a\" dataset { files: \"", folder, "/*.tfrecord\" ", steps,
                      " } features { key: \"label\" type: INT64 } batch { size: 2 }");
}

TEST_F(SelectCommand, CountsWhatEachStepOfAJobKeeps) {
  WriteShard("data/a.tfrecord", Entries(0, 12));
  WriteShard("data/b.tfrecord", Entries(12, 28));
  dir_.Write("job.textproto",
             JobWith(dir_.File("data"),
                     "select { filter: 'label % 2 == 1' } select { skip: 5 } select { every { n: 4 } } "
                     "select { take: 3 }"));
  EXPECT_EQ(Run({"select", "job.textproto", "--examples", "9"}).out,
            absl::StrCat("3 of 40 records in 2 files match (7.5 %)\n"
                         "  select[0] keeps 20 of 40 records: label % 2 == 1\n"
                         "  select[1] keeps 15 of 20 records: skip 5\n"
                         "  select[2] keeps 4 of 15 records: every 4\n"
                         "  select[3] keeps 3 of 4 records: take 3\n"
                         "  ",
                         dir_.File("data/a.tfrecord"), ", record 11: label = 11\n  ", dir_.File("data/b.tfrecord"),
                         ", record 7: label = 19\n  ", dir_.File("data/b.tfrecord"), ", record 15: label = 27\n"));
  EXPECT_THAT(Run({"select", "job.textproto", "--json", "--examples", "1"}).out,
              AllOf(HasSubstr("\"matches\": 3"), HasSubstr("\"matches_by_step\": [20, 15, 4, 3]")));
  EXPECT_THAT(ErrorOf({"select", "job.textproto", "--filter", "label > 3"}, 2),
              HasSubstr("--filter cannot follow the job's steps that count records"));
}

TEST_F(SelectCommand, ExplainsWhatEachStepDrops) {
  std::vector<std::string> entries = Entries(0, 12);
  entries[4] = records::ExampleBuilder().Int64("label", 5).Int64("city", 1).Serialize();
  WriteShard("data/a.tfrecord", entries);
  dir_.Write("job.textproto", JobWith(dir_.File("data"),
                                      "select { filter: 'label % 2 == 0' } select { filter: 'city != \"town 6\"' } "
                                      "select { take: 3 }"));
  const std::string path = dir_.File("data/a.tfrecord");
  EXPECT_EQ(Run({"select", "job.textproto", "--explain", "--examples", "3"}).out,
            absl::StrCat("3 of 12 records in 1 file match (25.0 %)\n"
                         "  select[0] keeps 5 of 12 records: label % 2 == 0\n"
                         "    drops ",
                         path,
                         ", record 1: label = 1, city = \"town 1\"\n"
                         "    drops ",
                         path,
                         ", record 3: label = 3, city = \"town 3\"\n"
                         "    drops ",
                         path,
                         ", record 4\n"
                         "  select[1] keeps 4 of 5 records: city != \"town 6\"\n"
                         "    drops ",
                         path,
                         ", record 6: label = 6, city = \"town 6\"\n"
                         "  select[2] keeps 3 of 4 records: take 3\n"
                         "  ",
                         path,
                         ", record 0: label = 0, city = \"town 0\"\n"
                         "  ",
                         path,
                         ", record 2: label = 2, city = \"town 2\"\n"
                         "  ",
                         path, ", record 8: label = 8, city = \"town 8\"\n"));
  EXPECT_THAT(Run({"select", "data", "--filter", "label < 11 and label != 5", "--explain"}).out,
              HasSubstr("  --filter keeps 9 of 12 records: label < 11 and label != 5\n    drops "));
  EXPECT_THAT(Run({"select", "job.textproto", "--explain", "--examples", "1", "--json"}).out,
              HasSubstr(absl::StrCat("\"dropped_by_step\": [[{\"file\": \"", path, "\", \"record\": 1, ")));
}

TEST_F(SelectCommand, CountsWithoutAFilterFromTheIndexes) {
  WriteShard("data/a.tfrecord", Entries(0, 12));
  WriteShard("data/b.tfrecord", Entries(12, 28));
  dir_.Write("job.textproto", JobWith(dir_.File("data"), "select { range { from: 10 to: 14 } }"));
  EXPECT_EQ(Run({"select", "job.textproto", "--examples", "3"}).out,
            absl::StrCat("4 of 40 records in 2 files match (10.0 %)\n"
                         "  select[0] keeps 4 of 40 records: range from 10 to 14\n"
                         "  ",
                         dir_.File("data/a.tfrecord"), ", record 10\n  ", dir_.File("data/a.tfrecord"),
                         ", record 11\n  ", dir_.File("data/b.tfrecord"), ", record 0\n"));
}

TEST_F(SelectCommand, SplitsAndSamples) {
  WriteShard("data/a.tfrecord", Entries(0, 40));
  std::vector<uint64_t> matches;
  for (const char* step : {"split { of: 'city' to: 0.7 }", "split { of: 'city' from: 0.7 }",
                           "sample { fraction: 0.5 } } select { split { to: 0.5 seed: 3 }"}) {
    dir_.Write("job.textproto", JobWith(dir_.File("data"), absl::StrCat("select { ", step, " }")));
    const Outcome outcome = Run({"select", "job.textproto", "--examples", "0"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    matches.push_back(static_cast<uint64_t>(std::stoi(outcome.out)));
  }
  EXPECT_EQ(matches[0] + matches[1], 40u);
  EXPECT_GT(matches[0], matches[1]);
  EXPECT_THAT(Run({"select", "job.textproto", "--examples", "0"}).out,
              AllOf(HasSubstr("of 40 records: sample of 0.5\n"),
                    HasSubstr("records: split of the content from 0 to 0.5, seed 3\n")));
}

TEST_F(SelectCommand, SelectsFromOneDataSetOfABlend) {
  WriteShard("data/a.tfrecord", Entries(0, 12));
  WriteShard("data/b.tfrecord", Entries(12, 28));
  dir_.Write("job.textproto",
             absl::StrCat("name: 'both' blend { } batch { size: 1 } features { key: 'label' type: INT64 }\n"
                          "dataset { name: 'a' weight: 1 files: '",
                          dir_.File("data/a*"),
                          "' }\n"
                          "dataset { name: 'b' weight: 1 files: '",
                          dir_.File("data/b*"), "' select { filter: 'label < 20' } }"));
  EXPECT_THAT(Run({"select", "job.textproto", "--dataset", "b", "--examples", "0"}).out,
              HasSubstr("8 of 28 records in 1 file match (28.6 %)\n  select[0] keeps 8 of 28 records: label < 20\n"));
  EXPECT_THAT(Run({"select", "job.textproto", "--dataset", "a", "--filter", "label < 5", "--examples", "0"}).out,
              HasSubstr("5 of 12 records"));
  EXPECT_THAT(ErrorOf({"select", "job.textproto", "--filter", "label < 5"}, 2),
              HasSubstr("it has several data sets: choose one by --dataset (there are: a, b)"));
  EXPECT_THAT(ErrorOf({"select", "job.textproto", "--dataset", "c"}, 2),
              HasSubstr("it has no data set with the name 'c' (there are: a, b)"));
}

TEST_F(SelectCommand, RejectsWeightsThatAreAllZero) {
  WriteShard("a.tfrecord", Entries(0, 4));
  const auto job_with = [&](const std::string& weight) {
    dir_.Write("job.textproto",
               absl::StrCat("name: 'weighted' batch { size: 1 } features { key: 'label' type: INT64 }\n"
                            "dataset { files: '",
                            dir_.File("a*"), "' select { weights { by: '", weight, "' } } }"));
  };
  job_with("label * 0");
  EXPECT_THAT(ErrorOf({"select", "job.textproto"}),
              HasSubstr("weights: all records have a weight of 0, so an epoch has"));
  job_with("label // 3");
  EXPECT_EQ(Run({"select", "job.textproto"}).code, 0);
}

TEST_F(SelectCommand, RejectsWrongUsage) {
  EXPECT_THAT(ErrorOf({"select", "job.textproto", "--source", "TEXT"}, 2),
              HasSubstr("--source is for globs; write dataset { source: TEXT } into job.textproto"));
  WriteShard("a.tfrecord", Entries(0, 4));
  EXPECT_THAT(ErrorOf({"select", "a.tfrecord"}, 2), HasSubstr("--filter EXPR is missing"));
  EXPECT_THAT(ErrorOf({"select", "--filter", "label == 0"}, 2), HasSubstr("JOB.textproto, GLOB or FOLDER is missing"));
  EXPECT_THAT(ErrorOf({"select", "a.tfrecord", "--filter", "label == 0", "--examples", "1001"}, 2),
              HasSubstr("--examples must be at most 1000"));
  EXPECT_THAT(ErrorOf({"select", "b.tfrecord", "--filter", "label == 0"}), HasSubstr("matches no file"));
  EXPECT_THAT(Run({"select", "a.tfrecord", "--filter", "label == 1", "--examples", "0"}).out,
              Not(HasSubstr("record 1")));
}

}  // namespace
}  // namespace penstock::cli
