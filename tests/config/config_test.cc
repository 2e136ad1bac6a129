#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "config/daemon_config.h"
#include "config/job_file.h"
#include "config/renamed.h"
#include "pipeline/augment/check_pipeline.h"

namespace penstock::config {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kGoodJob[] = R"(name: "a-job"
dataset { files: "train-*" }
features { key: "image/encoded" column: "image" type: BYTES }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 8 width: 8 } }
order { seed: 17 shuffle: CHUNKED }
batch { size: 4 last: DROP }
)";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

std::vector<std::string> Lines(const std::vector<Mistake>& mistakes) {
  std::vector<std::string> out;
  for (const Mistake& m : mistakes) {
    out.push_back(std::to_string(m.line) + " " + m.field + ": " + m.message);
  }
  return out;
}

// Several messages have an enum field of the same name, at any depth of ops. The message lists the values of the field
// with the mistake.
TEST(JobFile, AWrongEnumValueIsReportedWithTheValuesOfItsField) {
  const std::string text = Replaced(kGoodJob, "ops { random_resized_crop", R"(ops { random_apply {
  ops { one_of {
    ops { random_horizontal_flip { } }
    ops { auto_augment { policy: FAIL } }
  } }
  ops { pad { mode: EDGY } }
} }
errors { policy: IMAGENET }
ops { random_resized_crop)");
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(text, nullptr, &job)),
              ElementsAre(AllOf(StartsWith("8 "), HasSubstr("it is one of IMAGENET | CIFAR10 | SVHN")),
                          AllOf(StartsWith("10 "), HasSubstr("did you mean 'EDGE'")),
                          AllOf(StartsWith("12 "), HasSubstr("it is one of FAIL | SUBSTITUTE | MASK"))));
}

// A job with invalid UTF-8 could be printed, but no RPC would carry it.
TEST(JobFile, InvalidUtf8IsAMistakeWithItsLine) {
  v1::JobSpec job;
  for (const char* bad : {"\\377", "a\\303", "\\355\\240\\200", "\\300\\200", "\\364\\220\\200\\200"}) {
    EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "image/encoded", bad), nullptr, &job)),
                ElementsAre(StartsWith("3 features[0].key: is not UTF-8")))
        << bad;
  }
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "image/encoded", "Gr\\303\\266\\303\\237e\\360\\237\\220\\237"),
                                 nullptr, &job)),
              IsEmpty());
}

// The parser reports a wrong enum value at the position of the next word.
TEST(JobFile, AWrongEnumValueIsReportedAtItsFieldWhateverFollows) {
  const std::string text =
      Replaced(kGoodJob, "decode_image { channels: RGB }", "decode_image { channels: GREY lenient: true }");
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(text, nullptr, &job)),
              ElementsAre(AllOf(StartsWith("4 channels: "), HasSubstr("did you mean 'GRAY'"))));
  EXPECT_THAT(Lines(CheckJobText(Replaced(text, "GREY ", "GREY\n\n"), nullptr, &job)),
              ElementsAre(StartsWith("4 channels: ")));
}

TEST(JobFile, AnUnknownFieldIsReportedWithTheValidFields) {
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "height: 8 width: 8", "size: 8"), nullptr, &job)),
              ElementsAre(AllOf(StartsWith("5 size: there is no field 'size' in 'random_resized_crop'"),
                                HasSubstr("there are: height, width"))));
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "random_resized_crop { height: 8 width: 8 }", "horizontal_flip {}"),
                                 nullptr, &job)),
              ElementsAre(HasSubstr("did you mean 'random_horizontal_flip'?")));
  EXPECT_THAT(Lines(CheckJobText(absl::StrCat(kGoodJob, "\nbatch_size: 8\nseed: 3\n"), nullptr, &job)),
              ElementsAre(HasSubstr("'batch_size' here (write batch { size: ... });"),
                          HasSubstr("'seed' here (write order { seed: ... });")));
}

TEST(JobFile, ADecimalCommaIsNamed) {
  v1::JobSpec job;
  const auto mistakes = Lines(CheckJobText(absl::StrCat(kGoodJob, "\nmix { mixup_alpha: 0,2 }\n"), nullptr, &job));
  ASSERT_FALSE(mistakes.empty());
  EXPECT_THAT(mistakes[0], HasSubstr("mixup_alpha: use a decimal point: 0.2"));
}

TEST(JobFile, AMissingBraceIsReportedWithItsPlace) {
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "channels: RGB } }", "channels: RGB }"), nullptr, &job)),
              ElementsAre("5 ops: a '}' is missing before this: the '{' of 'ops' in line 4 is still open"));
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "batch { size: 4 last: DROP }\n", "batch { size: 4 last: DROP\n"),
                                 nullptr, &job)),
              ElementsAre("7 batch: a '}' is missing: the '{' of 'batch' in line 7 is never closed"));
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "last: DROP }", "last: DROP } }"), nullptr, &job)),
              ElementsAre("7 : a surplus '}': no '{' is open here"));
}

TEST(JobFile, SourceAndFormatOfADataSetMustMatch) {
  v1::JobSpec job;
  const auto lines = [&](const std::string& more) {
    return Lines(CheckJobText(Replaced(kGoodJob, "\"train-*\"", "\"train-*\" " + more), nullptr, &job));
  };
  for (const char* good :
       {"source: AUTO", "source: TAR", "source: TFRECORD", "source: TAR format: SAMPLE", "source: TFRECORD format: RAW",
        "source: JSONL", "source: JSONL format: JSON", "source: JSONL format: RAW", "source: TEXT",
        "source: TEXT format: LINE", "source: TEXT format: RAW", "source: CSV", "source: CSV format: CSV_ROW",
        "source: TSV format: TSV_ROW", "source: NPY format: ARRAY_ROW"}) {
    EXPECT_THAT(lines(good), IsEmpty()) << good;
  }
  EXPECT_THAT(
      lines("source: TFRECORD format: SAMPLE"),
      ElementsAre(
          "2 dataset[0].source: TFRECORD, but `format` is SAMPLE, which only tar archives have; leave one out"));
  EXPECT_THAT(lines("source: TAR format: RAW"),
              ElementsAre("2 dataset[0].format: RAW, but `source` is TAR, whose records are samples; leave one out"));
  EXPECT_THAT(
      lines("source: TAR format: JSON"),
      ElementsAre("2 dataset[0].source: TAR, but `format` is JSON, which only JSONL files have; leave one out"));
  EXPECT_THAT(
      lines("source: JSONL format: SAMPLE"),
      ElementsAre("2 dataset[0].source: JSONL, but `format` is SAMPLE, which only tar archives have; leave one out"));
  EXPECT_THAT(
      lines("source: JSONL format: SEQUENCE_EXAMPLE"),
      ElementsAre("2 dataset[0].format: SEQUENCE_EXAMPLE, but `source` is JSONL, whose records are JSON objects; "
                  "leave one out"));
  EXPECT_THAT(
      lines("source: JSONL format: LINE"),
      ElementsAre("2 dataset[0].source: JSONL, but `format` is LINE, which only text files have; leave one out"));
  EXPECT_THAT(
      lines("source: TEXT format: SEQUENCE_EXAMPLE"),
      ElementsAre("2 dataset[0].format: SEQUENCE_EXAMPLE, but `source` is TEXT, whose records are lines of text; "
                  "leave one out"));
  EXPECT_THAT(
      lines("source: TSV format: CSV_ROW"),
      ElementsAre("2 dataset[0].source: TSV, but `format` is CSV_ROW, which only CSV files have; leave one out"));
  EXPECT_THAT(
      lines("source: CSV format: RAW"),
      ElementsAre("2 dataset[0].format: RAW, but `source` is CSV, whose records are rows of fields; leave one out"));
  EXPECT_THAT(lines("source: ZIP"), ElementsAre(HasSubstr("ZIP")));
}

TEST(JobFile, AFileNameCheckRejectsNamesOfFiles) {
  v1::JobSpec job;
  const std::string text = Replaced(kGoodJob, "train-*", "vault://shelf/train-*");
  EXPECT_THAT(Lines(CheckJobText(text, nullptr, &job)), IsEmpty());
  const FileNameCheck check = [](const std::string& name) { return absl::InvalidArgumentError(name + " is a URL"); };
  EXPECT_THAT(Lines(CheckJobText(text, nullptr, &job, nullptr, check)),
              ElementsAre("2 dataset[0].files[0]: vault://shelf/train-* is a URL"));
}

// A use of each old name, where the new name is valid.
const std::map<std::string, std::string> kRenamedUses = {
    {"centre_crop", "ops { centre_crop { height: 8 width: 8 } }"},
    {"colour_jitter", "ops { colour_jitter { hue: 0.1 } }"},
    {"normalise", "ops { normalise { preset: \"imagenet\" } }"},
    {"no_colour_ops", "ops { augmix { no_colour_ops: true } }"},
    {"COLOUR", "ops {\n\trandom_erasing { fill:  COLOUR } }"},
    {"RANGES", "assignment { policy: RANGES }"},
    {"RANKS", "assignment { policy: RANKS }"},
};

TEST(JobFile, OldNamesAreReadAsTheNewNamesWithAWarning) {
  for (const RenamedName& renamed : RenamedNames()) {
    SCOPED_TRACE(renamed.before);
    const auto use = kRenamedUses.find(std::string(renamed.before));
    ASSERT_NE(use, kRenamedUses.end());
    v1::JobSpec old_job, new_job;
    std::vector<Mistake> warnings, no_warnings;
    const std::string text = kGoodJob + use->second + "\n";
    EXPECT_THAT(Lines(CheckJobText(text, nullptr, &old_job, &warnings)), IsEmpty());
    EXPECT_THAT(
        Lines(CheckJobText(Replaced(text, use->first, std::string(renamed.now)), nullptr, &new_job, &no_warnings)),
        IsEmpty());
    EXPECT_EQ(old_job.SerializeAsString(), new_job.SerializeAsString());
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(use->first)), '\n') + 1;
    EXPECT_THAT(MistakeLines("job", warnings),
                ElementsAre(AllOf(StartsWith(absl::StrCat("job:", line, ": '", use->first)),
                                  HasSubstr(std::string(renamed.now)))));
    EXPECT_THAT(no_warnings, IsEmpty());
    // CHANGELOG.md lists each old name.
    EXPECT_THAT(*ReadWholeFile(PENSTOCK_SOURCE_DIR "/CHANGELOG.md", 1 << 20), HasSubstr("`" + use->first + "`"));
  }
}

TEST(JobFile, AnOldNameDoesNotHideMistakes) {
  v1::JobSpec job;
  std::vector<Mistake> warnings;
  const std::string text = std::string(kGoodJob) + "ops { centre_crop { height: 8 width: many } }\ncolour_jitter { }\n";
  EXPECT_THAT(
      Lines(CheckJobText(text, nullptr, &job, &warnings)),
      ElementsAre(HasSubstr("a whole number is expected, not many"), HasSubstr("there is no field 'colour_jitter'")));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(DaemonConfig, NoRecordCacheIsAnOldSpellingOfZeroBytes) {
  v1::DaemonConfig config;
  std::vector<Mistake> warnings;
  EXPECT_THAT(Lines(CheckDaemonConfigText("worker_settings { no_record_cache: true }", &config, &warnings)), IsEmpty());
  EXPECT_THAT(MistakeLines("f", warnings), ElementsAre(HasSubstr("f:1: 'no_record_cache: true' is written")));
  FillDaemonDefaults(DaemonRole::kWorker, {uint64_t{8} << 30, "a test"}, &config);
  EXPECT_EQ(config.worker_settings().record_cache_bytes(), 0u);
  EXPECT_FALSE(config.worker_settings().no_record_cache());
  EXPECT_THAT(Lines(CheckDaemonConfigText("worker_settings { no_record_cache: true record_cache_bytes: 5 }", &config,
                                          &warnings)),
              ElementsAre(HasSubstr("contradicts record_cache_bytes")));
}

TEST(JobFile, MistakesInNestedOpsHaveTheirLine) {
  const std::string text = Replaced(kGoodJob, "ops { random_resized_crop", R"(ops { random_apply {
  ops { one_of {
    ops { random_horizontal_flip { } }
    ops { random_horizontal_flip {
      probability: 2
    } }
    weights: 1
    weights: 0
  } }
} }
ops { random_resized_crop)");
  v1::JobSpec job;
  EXPECT_THAT(
      Lines(CheckJobText(text, augment::CheckPipeline, &job)),
      ElementsAre(StartsWith("9 ops[1].random_apply.ops[0].one_of.ops[1].random_horizontal_flip.probability: ")));
}

TEST(JobFile, DataSetsOfABlendHaveTheirOwnFeaturesAndOps) {
  const std::string text = R"(name: "both"
dataset { name: "web" weight: 1 files: "web-*" features { key: "jpg" column: "image" type: BYTES } }
dataset {
  name: "code" weight: 1 files: "code-*"
  features { key: "picture" column: "image" type: BYTES }
  ops { decode_image { } }
  ops { resize { height: 0 width: 4 } }
}
ops { decode_image { } }
ops { resize { height: 4 width: 4 } }
blend { }
batch { size: 4 }
)";
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(text, augment::CheckPipeline, &job)),
              ElementsAre(StartsWith("7 dataset[1].ops[1].resize.height: must be from 1")));
  const std::string other = Replaced(text, "height: 0", "height: 5");
  EXPECT_THAT(
      Lines(CheckJobText(other, augment::CheckPipeline, &job)),
      ElementsAre(HasSubstr("dataset[1] (code): its column 'image' is UINT8, 5 x 4 x 3, and not UINT8, 4 x 4 x 3; "
                            "all data sets make the columns of dataset[0] (web)")));
  EXPECT_THAT(Lines(CheckJobText(Replaced(text, "height: 0", "height: 4"), augment::CheckPipeline, &job)), IsEmpty());
  EXPECT_THAT(Lines(CheckJobText(Replaced(text, "features { key: \"jpg\" column: \"image\" type: BYTES }", ""),
                                 augment::CheckPipeline, &job)),
              ElementsAre(HasSubstr("features: a job needs at least one")));
}

TEST(JobFile, NestedOpsCountTowardTheLimit) {
  std::string ops;
  for (int i = 0; i < 260; ++i) ops += "ops { random_horizontal_flip { } }\n";
  v1::JobSpec job;
  const std::string text =
      Replaced(kGoodJob, "ops { random_resized_crop", "ops { one_of {\n" + ops + "} }\nops { random_resized_crop");
  EXPECT_THAT(Lines(CheckJobText(text, nullptr, &job)), ElementsAre(HasSubstr("including ops inside other ops")));
}

TEST(JobFile, AValidJobHasNoMistakes) {
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(kGoodJob, nullptr, &job)), IsEmpty());
  EXPECT_EQ(job.name(), "a-job");
  EXPECT_EQ(job.batch().size(), 4u);
}

TEST(JobFile, OneRunReportsEveryMistakeWithItsLine) {
  std::string text = kGoodJob;
  text = Replaced(text, "random_resized_crop", "random_resize_crop");
  text = Replaced(text, "CHUNKED", "CHUNKD");
  text = Replaced(text, "size: 4", "size: \"four\"");
  v1::JobSpec job;
  const std::vector<std::string> lines = Lines(CheckJobText(text, nullptr, &job));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("did you mean 'random_resized_crop'"), HasSubstr("did you mean 'CHUNKED'"),
                                 HasSubstr("\"four\"")));
  EXPECT_EQ(lines[0].substr(0, 2), "5 ");
  EXPECT_EQ(lines[1].substr(0, 2), "6 ");
  EXPECT_EQ(lines[2].substr(0, 2), "7 ");
}

TEST(JobFile, RulesNameFieldAndLine) {
  std::string text = kGoodJob;
  text = Replaced(text, "a-job", "a job");
  text = Replaced(text, "size: 4", "size: 0");
  v1::JobSpec job;
  const std::vector<Mistake> mistakes = CheckJobText(text, nullptr, &job);
  ASSERT_EQ(mistakes.size(), 2u);
  EXPECT_EQ(mistakes[0].field, "name");
  EXPECT_EQ(mistakes[0].line, 1);
  EXPECT_EQ(mistakes[1].field, "batch.size");
  EXPECT_EQ(mistakes[1].line, 7);
}

TEST(JobFile, ThePipelinesMistakesGetTheirLines) {
  v1::JobSpec job;
  const auto check = [](const v1::JobSpec&) {
    return std::vector<std::string>{"ops[1].random_resized_crop.height: too small"};
  };
  const std::vector<Mistake> mistakes = CheckJobText(kGoodJob, check, &job);
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_EQ(mistakes[0].line, 5);
  EXPECT_EQ(mistakes[0].message, "too small");
}

TEST(JobFile, GarbageIsRejectedInFiniteTime) {
  for (const char* text : {"", "{", "}", "ops {", "name: ", "\xff\xfe", "ops { ops { ops", "[", "name: [1,",
                           "name \"x\"", ":::", "ops: { decode_image: }"}) {
    v1::JobSpec job;
    EXPECT_FALSE(CheckJobText(text, nullptr, &job).empty()) << text;
  }
}

TEST(JobFile, CheckingATruncatedJobEnds) {
  const std::string good = kGoodJob;
  for (size_t n = 0; n < good.size(); ++n) {
    v1::JobSpec job;
    CheckJobText(good.substr(0, n), nullptr, &job);  // must return
  }
}

// The mistake on a line comes first. The missing fields that it causes come after it.
TEST(JobFile, MistakesWithALineComeBeforeMissingFields) {
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText(Replaced(kGoodJob, "features", "featuers"), nullptr, &job)),
              ElementsAre(StartsWith("3 featuers: there is no field"), StartsWith("0 features: a job needs")));
}

TEST(JobFile, ParserErrorsAreRewrittenForUsers) {
  const auto first = [](const std::string& what, const std::string& with) {
    v1::JobSpec job;
    const std::vector<std::string> lines = Lines(CheckJobText(Replaced(kGoodJob, what, with), nullptr, &job));
    return lines.empty() ? "" : lines[0];
  };
  EXPECT_EQ(first("size: 4", "size: \"many\""), "7 size: a whole number is expected, not \"many\"");
  EXPECT_EQ(first("seed: 17", "seed: -1"), "6 seed: a whole number from 0 on is expected, not -1");
  EXPECT_EQ(first("\"train-*\"", "train-*"), "2 files: a text in quotes is expected, not train");
  EXPECT_EQ(first("batch { size: 4 last: DROP }", "batch: 4"), "7 batch: '{' is expected, not 4: batch { ... }");
  EXPECT_EQ(first("name: \"a-job\"", "name = \"a-job\""), "1 : ':' is expected, not =");
  EXPECT_EQ(first("size: 4", "size: 0"),
            "7 batch.size: the global batch size is missing or 0: batch { size: 256 last: DROP }");
  EXPECT_THAT(
      first("height: 8 width: 8", "size: 8"),
      HasSubstr("there is no field 'size' in 'random_resized_crop' (write height: and width:); there are: height"));
}

TEST(JobFile, AFileThatIsNoTextprotoIsReportedWithItsType) {
  v1::JobSpec job;
  EXPECT_THAT(Lines(CheckJobText("{\"name\": \"train\"}", nullptr, &job)),
              ElementsAre(HasSubstr("this is JSON; a job or configuration is written as `name: \"x\"`")));
  EXPECT_THAT(Lines(CheckJobText(std::string("\xFF\xD8\xFF\xE0\0\x10", 6), nullptr, &job)),
              ElementsAre(StartsWith("0 : this is no text; a job or")));
}

TEST(DaemonConfig, EveryMistakeIsNamed) {
  const char text[] = R"(listen: "localhost"
data_root { path: "data" }
worker_settings { memory_budget_bytes: 1000 }
log { level: "inof" }
limits { unread_seconds: 601 }
)";
  v1::DaemonConfig config;
  std::vector<Mistake> warnings;
  const std::vector<std::string> lines = Lines(CheckDaemonConfigText(text, &config, &warnings));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("1 listen"), HasSubstr("2 data_root[0].path"),
                                 HasSubstr("3 worker_settings.memory_budget_bytes"), HasSubstr("did you mean 'info'"),
                                 HasSubstr("5 limits.unread_seconds")));
}

TEST(DaemonConfig, AFieldThatCannotBeReadIsNotReportedAsMissing) {
  v1::DaemonConfig config;
  std::vector<Mistake> warnings;
  const char text[] = R"(data_root { path: 5 name: "data" }
tls { cert: 5 key: "/key" }
coordinator_settings { heartbeat_ms: "x" dead_after_ms: 10 }
worker_settings { name: "a b\377" }
)";
  EXPECT_THAT(
      Lines(CheckDaemonConfigText(text, &config, &warnings)),
      ElementsAre(HasSubstr("1 path: a text in quotes is expected"), HasSubstr("2 cert: a text in quotes is expected"),
                  HasSubstr("3 heartbeat_ms: a whole number"), HasSubstr("3 coordinator_settings.dead_after_ms"),
                  HasSubstr("4 worker_settings.name: is not UTF-8 text")));
  // The parser does not read past an open brace.
  EXPECT_THAT(Lines(CheckDaemonConfigText("data_root { name: 'x' ", &config, &warnings)),
              ElementsAre(HasSubstr("a '}' is missing")));
}

TEST(DaemonConfig, AMistakeThatFollowsFromAnotherIsNotReported) {
  const auto lines = [](const std::string& text) {
    v1::DaemonConfig config;
    std::vector<Mistake> warnings;
    return Lines(CheckDaemonConfigText(text, &config, &warnings));
  };
  EXPECT_THAT(lines("listen: '7072'\nhttp: '7072'\n"), ElementsAre(HasSubstr("1 listen"), HasSubstr("2 http")));
  EXPECT_THAT(lines("worker_settings { memory_budget_bytes: 1000 record_cache_bytes: 2000 }"),
              ElementsAre(HasSubstr("worker_settings.memory_budget_bytes")));
  EXPECT_THAT(lines("coordinator_settings { heartbeat_ms: 70000 dead_after_ms: 3000 }"),
              ElementsAre(HasSubstr("coordinator_settings.heartbeat_ms")));
  EXPECT_THAT(lines("tls { key: '/key' worker_name: 'w' }"), ElementsAre(HasSubstr("tls.cert")));
  EXPECT_THAT(lines("data_root { path: 'a=b' }"), ElementsAre(HasSubstr("data_root[0].path")));
}

TEST(DaemonConfig, TheHttpPortIsAnAddressOfItsOwnAndHasNoDefault) {
  const auto lines = [](const std::string& text) {
    v1::DaemonConfig config;
    std::vector<Mistake> warnings;
    return Lines(CheckDaemonConfigText(text, &config, &warnings));
  };
  EXPECT_THAT(lines("listen: '127.0.0.1:0'\nhttp: '127.0.0.1:0'\n"), IsEmpty());
  EXPECT_THAT(lines("state_dir: '/s'\nhttp: '7072'\n"), ElementsAre(HasSubstr("2 http")));
  EXPECT_THAT(lines("listen: 'h:7072'\nhttp: 'h:7072'\n"), ElementsAre(HasSubstr("the address of `listen`")));
  for (const DaemonRole role : {DaemonRole::kStandalone, DaemonRole::kCoordinator, DaemonRole::kWorker}) {
    v1::DaemonConfig config;
    FillDaemonDefaults(role, {uint64_t{2} << 30, "a test"}, &config);
    EXPECT_EQ(config.http(), "");
  }
}

TEST(DaemonConfig, DefaultsLeaveMemoryBesidesTheCaches) {
  v1::DaemonConfig config;
  FillDaemonDefaults(DaemonRole::kWorker, {uint64_t{2} << 30, "a test"}, &config);
  EXPECT_EQ(config.worker_settings().memory_budget_bytes(), uint64_t{1} << 30);
  EXPECT_THAT(Lines(CheckDaemonConfig(config)), IsEmpty());
  EXPECT_LE(config.worker_settings().record_cache_bytes() * 2, config.worker_settings().memory_budget_bytes());
  EXPECT_EQ(config.coordinator_settings().dead_after_ms(), 3000u);
}

TEST(Examples, AllExamplesAreValid) {
  int jobs = 0, daemons = 0;
  std::vector<std::string> warnings;
  for (const auto& entry : std::filesystem::directory_iterator("config/examples")) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".textproto") continue;
    if (path.find(".job.") != std::string::npos) {
      EXPECT_EQ(LoadJobFile(path, augment::CheckPipeline, &warnings).status().message(), "") << path;
      ++jobs;
    } else {
      EXPECT_EQ(LoadDaemonConfig(path, &warnings).status().message(), "") << path;
      ++daemons;
    }
  }
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_GE(jobs, 3);
  EXPECT_GE(daemons, 3);
}

// Whole jobs, which begin with a name; other blocks are pieces.
TEST(Examples, JobsInTheAugmentationsPageHaveNoMistakes) {
  const auto page = ReadWholeFile("docs/augmentations.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status();
  const std::string begin = "```textproto\nname:";
  int jobs = 0;
  for (size_t at = page->find(begin); at != std::string::npos; at = page->find(begin, at + 1)) {
    const size_t start = at + begin.size() - 5, end = page->find("```", start);
    v1::JobSpec job;
    EXPECT_THAT(Lines(CheckJobText(page->substr(start, end - start), augment::CheckPipeline, &job)), IsEmpty());
    ++jobs;
  }
  EXPECT_GT(jobs, 0);
}

TEST(LoadJobFile, NamesTheFile) {
  std::vector<std::string> warnings;
  const auto job = LoadJobFile("/nowhere/x.textproto", nullptr, &warnings);
  EXPECT_EQ(job.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(job.status().message()), HasSubstr("/nowhere/x.textproto"));
}

}  // namespace
}  // namespace penstock::config
