#include "client/cli/job_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

namespace penstock::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::JobSpec Job(const std::string& text) {
  v1::JobSpec job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &job));
  return job;
}

std::string LineOf(const std::string& text, uint64_t rows) {
  const v1::JobSpec job = Job(text);
  return EpochLine(job, EpochFactsOf(job, rows));
}

TEST(JobReport, ReportsTheLastStepOfAnEpoch) {
  EXPECT_EQ(LineOf("batch { size: 16 last: DROP }", 60),
            "an epoch has 60 rows: 3 steps of 16, 12 rows (20.0 %) are dropped at its end");
  EXPECT_EQ(LineOf("batch { size: 16 last: PAD }", 60),
            "an epoch has 60 rows: 4 steps of 16, the last filled up with 4 rows");
  EXPECT_EQ(LineOf("batch { size: 16 last: PARTIAL }", 60), "an epoch has 60 rows: 4 steps of 16, the last of 12");
  EXPECT_EQ(LineOf("batch { size: 20 last: DROP }", 60), "an epoch has 60 rows: 3 steps of 20");
  EXPECT_EQ(LineOf("batch { size: 256 }", 1281167),
            "an epoch has 1,281,167 rows: 5,004 steps of 256, 143 rows (0.0 %) are dropped at its end");
}

TEST(JobReport, WarnsOfManyDroppedRowsAndSuggestsABatchSize) {
  EXPECT_THAT(
      WarningsOf(Job("batch { size: 16 }"), 60),
      ElementsAre("batch: an epoch has 60 rows: 3 steps of 16, 12 rows (20.0 %) are dropped at its end: batch { "
                  "size: 4 } leaves out less, last: PAD or PARTIAL nothing"));
  EXPECT_THAT(WarningsOf(Job("batch { size: 256 }"), 60), ElementsAre(HasSubstr("`penstock submit` refuses that")));
  EXPECT_THAT(WarningsOf(Job("batch { size: 32 }"), 100), IsEmpty()) << "4 of 100 rows are few";
  EXPECT_THAT(WarningsOf(Job("batch { size: 256 }"), 0), IsEmpty()) << "the number of records is unknown";
}

TEST(JobReport, ReportsSizesThatChange) {
  EXPECT_EQ(LineOf("batch { size: 16 change { at_rows: 30 size: 4 } }", 60),
            "an epoch has 60 rows, the first one 9 steps: batches of 16, 4 from row 30 of the run");
  EXPECT_THAT(WarningsOf(Job("batch { size: 60 change { at_rows: 1 size: 10 } }"), 100), IsEmpty());
  EXPECT_THAT(
      WarningsOf(Job("batch { size: 10 change { at_rows: 101 size: 60 } }"), 100),
      ElementsAre("batch: epoch 1 drops 30 of 100 rows at its end; give other sizes in batch.change, or last: PAD"));
  EXPECT_THAT(WarningsOf(Job("batch { size: 8 change { at_rows: 9 size: 101 } }"), 100),
              ElementsAre(HasSubstr("fewer than a batch of 101, and batch.last is DROP")));
}

TEST(JobReport, PrintsTheShareOfEachDataSetOfABlend) {
  v1::Job job;
  *job.mutable_spec() = Job("order { repeats: 3 }");
  job.mutable_snapshot()->add_shards()->set_records(20);
  EXPECT_EQ((*OrderOf(job))->num_positions(), 60u);
  EXPECT_EQ(ShareLines(job.spec(), **OrderOf(job)), "");
  *job.mutable_spec() =
      Job("dataset { name: 'web' weight: 7 } dataset { name: 'code' weight: 1 } blend { epoch_rows: 160 }");
  EXPECT_EQ(OrderOf(job).status().code(), absl::StatusCode::kInvalidArgument) << "the coordinator is older";
  job.mutable_snapshot()->add_shards()->set_records(30);
  for (int set = 0; set < 2; ++set) job.mutable_snapshot()->add_set_shards(1);
  EXPECT_EQ(ShareLines(job.spec(), **OrderOf(job)),
            "  dataset web: 57344 of 65536 rows, 7 passes in an epoch\n"
            "  dataset code: 8192 of 65536 rows, 0.667 passes in an epoch\n");
  job.mutable_spec()->mutable_batch()->set_size(8);
  job.mutable_spec()->mutable_blend()->set_batches(v1::Blend::EXACT);
  v1::WeightChange* const change = job.mutable_spec()->mutable_blend()->add_change();
  change->set_at_rows(160);
  change->set_over_rows(128);
  v1::SetWeight* const weight = change->add_weights();
  weight->set_key(job.spec().dataset(0).name());
  weight->set_value(job.spec().dataset(1).weight());
  const std::string lines = ShareLines(job.spec(), **OrderOf(job));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5) << "steps with equal shares have one line:\n" << lines;
  EXPECT_THAT(lines, HasSubstr(": web 4, code 4 of 8 rows\n"));
}

TEST(JobReport, DescribesMixedLabelsAsTrainersReceiveThem) {
  const batch::RowSchema rows{{{.name = "image", .dtype = batch::DType::kUint8, .shape = {8, 8, 3}},
                               {.name = "label", .dtype = batch::DType::kInt64, .shape = {}}}};
  EXPECT_EQ(ColumnLines(Job(""), rows), "  image            UINT8, 8 x 8 x 3\n  label            INT64\n");
  EXPECT_EQ(ColumnLines(Job("mix { mixup_alpha: 0.2 classes: 1000 }"), rows),
            "  image            UINT8, 8 x 8 x 3, mixed\n  label            FLOAT32, 1000, mixed\n");
  const batch::RowSchema longer{{{.name = "image/object/class/label", .dtype = batch::DType::kInt64, .shape = {}},
                                 {.name = "x", .dtype = batch::DType::kInt64, .shape = {}}}};
  EXPECT_EQ(ColumnLines(Job(""), longer), "  image/object/class/label INT64\n  x                        INT64\n");
}

}  // namespace
}  // namespace penstock::cli
