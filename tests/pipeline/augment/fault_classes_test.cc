// A fault in a record has its class, whichever part of the pipeline finds it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fault.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

constexpr char kImageOps[] = "ops { decode_image { } } ops { resize { height: 16 width: 16 } }";

absl::Status MadeStatus(const std::string& record, const std::string& more = "") {
  const auto pipeline = BuildPipeline(ImageJob(kImageOps + more));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  return pipeline->MakeRow(record, {}, &row.slot, &scratch);
}

TEST(FaultClasses, EveryFaultOfARecordHasItsClass) {
  const std::string jpeg = image::MakeJpeg({.width = 90, .height = 70});
  ASSERT_TRUE(MadeStatus(ImageRecord(jpeg)).ok());
  std::string rotten = jpeg;
  for (size_t i = rotten.size() / 2; i < rotten.size() / 2 + 60; ++i) rotten[i] = static_cast<char>(0xFF);
  const std::vector<std::string_view> two = {"a", "b"};
  struct Case {
    std::string what, record, more;
    Fault fault;
  };
  const Case cases[] = {
      {"no Example", "\xff\xff\xff", "", Fault::kNoExample},
      {"no label", records::ExampleBuilder().Bytes("image/encoded", jpeg).Serialize(), "", Fault::kMissingFeature},
      {"no image feature", records::ExampleBuilder().Int64("image/class/label", 1).Serialize(), "",
       Fault::kMissingFeature},
      {"label of floats",
       records::ExampleBuilder().Bytes("image/encoded", jpeg).Float("image/class/label", 1).Serialize(), "",
       Fault::kWrongKind},
      {"two images",
       records::ExampleBuilder().BytesList("image/encoded", two).Int64("image/class/label", 1).Serialize(), "",
       Fault::kWrongShape},
      {"a cut JPEG", ImageRecord(jpeg.substr(0, jpeg.size() / 2)), "", Fault::kTruncatedImage},
      {"a cut header", ImageRecord(jpeg.substr(0, 30)), "", Fault::kTruncatedImage},
      {"a rotten JPEG", ImageRecord(rotten), "", Fault::kDamagedImage},
      {"text", ImageRecord("this is a text, no image"), "", Fault::kNoImage},
      {"nothing", ImageRecord(""), "", Fault::kNoImage},
      {"a large image", ImageRecord(jpeg), "limits { max_image_side: 64 }", Fault::kOverLimit},
  };
  for (const Case& c : cases) {
    const absl::Status status = MadeStatus(c.record, c.more);
    EXPECT_FALSE(status.ok()) << c.what;
    EXPECT_EQ(FaultName(FaultOf(status)), FaultName(c.fault)) << c.what << ": " << status;
  }
}

}  // namespace
}  // namespace penstock::augment
