#include "base/fault.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock {
namespace {

TEST(Fault, StaysWithItsStatusThroughPrefixes) {
  const absl::Status bare = absl::DataLossError("ends early");
  EXPECT_EQ(FaultOf(bare), Fault::kOther);
  EXPECT_EQ(FaultOf(absl::OkStatus()), Fault::kOther);
  const absl::Status cut = WithFault(Fault::kTruncatedImage, bare);
  EXPECT_EQ(cut.message(), "ends early");
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  const absl::Status placed = Prefixed("a, record 3", Prefixed("ops[0]", cut));
  EXPECT_EQ(placed.message(), "a, record 3: ops[0]: ends early");
  EXPECT_EQ(FaultOf(placed), Fault::kTruncatedImage);
}

TEST(Fault, TheFirstFaultOfAStatusIsKept) {
  const absl::Status cut = WithFault(Fault::kTruncatedImage, absl::DataLossError("ends early"));
  EXPECT_EQ(FaultOf(WithFault(Fault::kDamagedImage, cut)), Fault::kTruncatedImage);
  EXPECT_EQ(FaultOf(WithFault(Fault::kOther, cut)), Fault::kTruncatedImage);
}

TEST(Fault, EachFaultHasAUniqueName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Fault::kOverLimit); ++i) names.insert(FaultName(static_cast<Fault>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Fault::kOverLimit) + 1);
  EXPECT_EQ(FaultName(Fault::kTruncatedImage), "truncated image");
}

}  // namespace
}  // namespace penstock
