// An op that was linked in: examples/own_op, and ops that this file registers itself.
#include "pipeline/augment/op/own_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/op/own_op_registry.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSide = 6;

// A job on raw pixels, so that no decoder changes them before a test checks them.
v1::JobSpec RawJob(const std::string& ops) {
  return augment::ParseJob(
      "features { key: 'pixels' column: 'image' type: BYTES decode_raw: UINT8 shape: 6 shape: 6 shape: 3 }\n" + ops);
}

std::string WhiteRecord() {
  return records::ExampleBuilder().Bytes("pixels", std::string(kSide * kSide * 3, '\xff')).Serialize();
}

std::vector<uint8_t> MakeRow(const std::string& ops, uint64_t epoch = 0) {
  const auto pipeline = augment::BuildPipeline(RawJob(ops));
  augment::OwnedRow row(pipeline->schema());
  augment::RowScratch scratch;
  const SampleKey key{.seed = 1, .epoch = epoch, .repeat = 0, .record_id = 3};
  const absl::Status status = pipeline->MakeRow(WhiteRecord(), key, &row.slot, &scratch);
  EXPECT_TRUE(status.ok()) << status;
  return row.As<uint8_t>(0);
}

TEST(OwnOp, MakesThePixelsOfItsFormula) {
  const std::vector<uint8_t> row = MakeRow("ops { custom { op: 'vignette' numbers { key: 'strength' value: 0.5 } } }");
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double dx = (x - 2.5) / 3, dy = (y - 2.5) / 3;
      const double wanted = std::nearbyint(255 * (1 - 0.5 * (dx * dx + dy * dy) / 2));
      for (int c = 0; c < 3; ++c) EXPECT_EQ(row[static_cast<size_t>((y * kSide + x) * 3 + c)], wanted) << x << ' ' << y;
    }
  }
}

TEST(OwnOp, DrawsDependOnlyOnTheSample) {
  const std::string ops = "ops { custom { op: 'vignette' numbers { key: 'jitter' value: 0.3 } } }";
  EXPECT_EQ(MakeRow(ops, 1), MakeRow(ops, 1));
  EXPECT_NE(MakeRow(ops, 1), MakeRow(ops, 2));
}

TEST(OwnOp, WorksInsideOtherOps) {
  EXPECT_EQ(MakeRow("ops { one_of { ops { custom { op: 'vignette' } } } }"),
            MakeRow("ops { custom { op: 'vignette' } }"));
}

TEST(OwnOp, MistakesNameTheParameterAndTheValidNames) {
  const auto mistakes = [](const std::string& custom) {
    return augment::CheckPipeline(RawJob("ops { custom { " + custom + " } }"));
  };
  EXPECT_THAT(mistakes("op: 'vignete'"),
              ElementsAre(AllOf(HasSubstr("ops[0].custom.op: own op 'vignete' is unknown"), HasSubstr("vignette"))));
  EXPECT_THAT(mistakes(""), ElementsAre(HasSubstr("ops[0].custom.op: names no own op")));
  EXPECT_THAT(mistakes("op: 'vignette' numbers { key: 'strenght' value: 1 }"),
              ElementsAre("ops[0].custom.numbers: 'vignette' has no 'strenght' among its numbers, which are: strength, "
                          "jitter"));
  EXPECT_THAT(mistakes("op: 'vignette' numbers { key: 'strength' value: 1.5 }"),
              ElementsAre("ops[0].custom.numbers: 'strength' is 1.5, but must be from 0 to 1"));
  EXPECT_THAT(mistakes("op: 'vignette' numbers { key: 'strength' value: nan }"),
              ElementsAre(HasSubstr("'strength' is nan")));
  EXPECT_THAT(mistakes("op: 'vignette' texts { key: 'shape' value: 'square' }"),
              ElementsAre("ops[0].custom.texts: 'shape' is 'square', but must be one of: oval, round"));
  EXPECT_THAT(mistakes("op: 'vignette' texts { key: 'form' value: 'oval' }"),
              ElementsAre("ops[0].custom.texts: 'vignette' has no 'form' among its texts, which are: shape"));
}

TEST(OwnOp, MistakesInAJobFileHaveTheirLine) {
  v1::JobSpec job;
  const auto mistakes = config::CheckJobText(
      "name: 'x'\n"
      "dataset { files: 'a' }\n"
      "features { key: 'image' type: BYTES }\n"
      "ops { decode_image {} }\n"
      "ops { custom {\n"
      "  op: 'vignette'\n"
      "  numbers { key: 'strength' value: 2 }\n"
      "} }\n"
      "ops { resize { height: 8 width: 8 } }\n"
      "batch { size: 4 }\n",
      augment::CheckPipeline, &job);
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_EQ(mistakes[0].line, 7);
}

TEST(OwnOp, RegistrationRejectsInvalidOps) {
  const OwnOpFactory make = [](const OwnOpSetup&, ValueType*) -> std::unique_ptr<Op> { return nullptr; };
  EXPECT_EQ(RegisterOwnOp({.name = "vignette", .version = "9", .make = make}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(RegisterOwnOp({.name = "", .version = "1", .make = make}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterOwnOp({.name = "a b", .version = "1", .make = make}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterOwnOp({.name = "a", .version = "", .make = make}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterOwnOp({.name = "a", .version = "1"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterOwnOp({.name = "a", .version = "1", .numbers = {{"n"}, {"n"}}, .make = make}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterOwnOp({.name = "a", .version = "1", .numbers = {{"n", 5, 0, 1}}, .make = make}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RegisterOwnOp({.name = "a", .version = "1", .texts = {{"t", "x", {"y"}}}, .make = make}).code(),
            absl::StatusCode::kInvalidArgument);
}

class ThrowingOp final : public Op {
 public:
  absl::Status Apply(OpContext* context, Value*) const override {
    if (!context->dry()) throw std::runtime_error("no pixels today");
    return absl::OkStatus();
  }
};

TEST(OwnOp, AnExceptionBecomesTheRowsError) {
  ASSERT_TRUE(RegisterOwnOp({.name = "throws",
                             .version = "1",
                             .make =
                                 [](const OwnOpSetup& setup, ValueType* output) {
                                   *output = setup.input();
                                   return std::unique_ptr<Op>(new ThrowingOp);
                                 }})
                  .ok());
  const auto pipeline = augment::BuildPipeline(RawJob("ops { custom { op: 'throws' } }"));
  augment::OwnedRow row(pipeline->schema());
  augment::RowScratch scratch;
  const absl::Status status = pipeline->MakeRow(WhiteRecord(), SampleKey(), &row.slot, &scratch);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("ops[0].custom (column 'image'): throws threw: no pixels today"));
}

TEST(OwnOp, AFactoryThatReturnsNoOpIsNamed) {
  ASSERT_TRUE(RegisterOwnOp({.name = "silent",
                             .version = "1",
                             .make = [](const OwnOpSetup&, ValueType*) { return std::unique_ptr<Op>(); }})
                  .ok());
  EXPECT_THAT(augment::CheckPipeline(RawJob("ops { custom { op: 'silent' } }")),
              ElementsAre(HasSubstr("own op 'silent' rejects this job without a reason")));
}

TEST(OwnOp, NameAndVersionAreInTheFingerprint) {
  const OwnOpFactory make = [](const OwnOpSetup& setup, ValueType* output) -> std::unique_ptr<Op> {
    *output = setup.input();
    return std::make_unique<ThrowingOp>();
  };
  ASSERT_TRUE(RegisterOwnOp({.name = "one", .version = "1a", .make = make}).ok());
  ASSERT_TRUE(RegisterOwnOp({.name = "two", .version = "1", .make = make}).ok());
  const auto fingerprint = [](const std::string& ops) { return augment::BuildPipeline(RawJob(ops))->fingerprint(); };
  // An op adds its name and version to the fingerprint, at any depth.
  for (const std::string ops :
       {"custom { op: 'one' }", "random_apply { ops { one_of { ops { custom { op: 'one' } } } } }"}) {
    const v1::JobSpec job = RawJob("ops { " + ops + " }");
    Fingerprint added;
    AddOwnOpVersions(job.ops(0), &added);
    EXPECT_EQ(added.value(), Fingerprint().Add("one").Add("1a").value());
  }
  EXPECT_EQ(fingerprint("ops { custom { op: 'one' } }"), fingerprint("ops { custom { op: 'one' } }"));
  EXPECT_NE(fingerprint("ops { custom { op: 'one' } }"), fingerprint("ops { custom { op: 'two' } }"));
  const std::vector<OwnOpVersion> all = RegisteredOwnOps();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
}

}  // namespace
}  // namespace penstock
