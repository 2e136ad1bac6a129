// The rows are the same on every CPU: each op of the schema runs under each of this machine's Highway targets, and in a
// process whose OpenCV and libjpeg-turbo may not use the vectors that they choose at run time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "hwy/highway.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

constexpr uint64_t kDraws = 2;

std::string Label(const OpExample& example) { return absl::StrCat(example.name, " { ", example.text, " }"); }

// A hash of the rows of one example and two images.
uint64_t DigestOf(const OpExample& example) {
  const auto pipeline = BuildPipeline(ExampleJob(example));
  const std::string records[] = {
      ImageRecord(image::MakeJpeg({.width = 97, .height = 71, .horizontal = 2, .vertical = 2})),
      ImageRecord(image::MakeJpeg({.width = 150, .height = 173, .restart_interval = 3, .seed = 9})),
  };
  Fingerprint digest;
  RowScratch scratch;
  for (const std::string& record : records) {
    for (uint64_t draw = 0; draw < kDraws; ++draw) {
      OwnedRow row(pipeline->schema());
      const SampleKey key{.seed = 17, .epoch = draw, .repeat = 0, .record_id = 3};
      const absl::Status status = pipeline->MakeRow(record, key, &row.slot, &scratch);
      if (!status.ok()) std::fprintf(stderr, "%s: %s\n", Label(example).c_str(), status.ToString().c_str());
      PS_CHECK(status.ok());
      for (const auto& bytes : row.memory) {
        digest.Add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
      }
    }
  }
  return digest.value();
}

std::map<std::string, uint64_t> AllDigests() {
  std::map<std::string, uint64_t> digests;
  for (const OpExample& example : OpExamples()) {
    digests[Label(example)] = DigestOf(example);
  }
  return digests;
}

TEST(Determinism, EveryOpHasAnExample) {
  std::set<std::string> examples;
  for (const OpExample& example : OpExamples()) examples.insert(example.name);
  for (const std::string& name : OpNames()) {
    // The author of a custom op adds its examples. tests/examples has those of Penstock's own example.
    if (name == "custom") continue;
    EXPECT_TRUE(examples.contains(name)) << name << "'s test needs an OpExampleRegistration (op_examples.h)";
  }
}

TEST(Determinism, RowsOfADeterministicPipelineAreTheSame) {
  const std::string record = ImageRecord(image::MakeJpeg({.width = 97, .height = 71, .horizontal = 2, .vertical = 2}));
  for (const OpExample& example : OpExamples()) {
    const auto pipeline = BuildPipeline(ExampleJob(example));
    if (!pipeline->IsDeterministic()) continue;
    RowScratch scratch;
    std::set<std::vector<std::vector<std::byte>>> rows;
    for (uint64_t draw = 0; draw < 16; ++draw) {
      OwnedRow row(pipeline->schema());
      ASSERT_TRUE(pipeline->MakeRow(record, {.seed = 17, .epoch = draw, .record_id = draw}, &row.slot, &scratch).ok());
      rows.insert(row.memory);
    }
    EXPECT_EQ(rows.size(), 1u) << Label(example) << ": IsRandom() is false";
  }
}

TEST(Determinism, EveryOpGivesTheSameBytesUnderEveryTarget) {
  const std::map<std::string, uint64_t> wanted = AllDigests();
  const std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  EXPECT_GE(targets.size(), 1u);
  for (const int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const auto& [label, digest] : AllDigests()) {
      EXPECT_EQ(digest, wanted.at(label)) << label << " under " << hwy::TargetName(target);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(Determinism, OpencvAndLibjpegGiveTheSameBytesWithoutVectorCode) {
  char self[PATH_MAX] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string command = absl::StrCat(
      "OPENCV_CPU_DISABLE=SSE4.1,SSE4.2,AVX,FP16,AVX2,FMA3,AVX512-SKX JSIMD_FORCENONE=1 OPENCV_IPP=disabled '", self,
      "' --print-digests");
  FILE* child = popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::map<std::string, uint64_t> digests;
  char line[1024];
  while (std::fgets(line, sizeof(line), child) != nullptr) {
    unsigned long long digest = 0;
    int at = 0;
    if (std::sscanf(line, "digest %llx %n", &digest, &at) != 1) continue;
    std::string label = line + at;
    label.pop_back();  // the end of the line
    digests[label] = digest;
  }
  ASSERT_EQ(pclose(child), 0);
  EXPECT_THAT(digests, testing::ContainerEq(AllDigests()));
}

}  // namespace
}  // namespace penstock::augment

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--print-digests") {
    for (const auto& [label, digest] : penstock::augment::AllDigests()) {
      std::printf("digest %016llx %s\n", static_cast<unsigned long long>(digest), label.c_str());
    }
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
