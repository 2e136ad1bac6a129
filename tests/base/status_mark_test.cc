#include "base/status_mark.h"

#include <gtest/gtest.h>

#include "base/fault.h"
#include "base/shortage.h"

namespace penstock {
namespace {

TEST(StatusMark, IsOnItsStatusAndNotInTheMessage) {
  const absl::Status marked = Marked("penstock.cold", absl::DataLossError("it is cold"));
  EXPECT_TRUE(HasMark(marked, "penstock.cold"));
  EXPECT_FALSE(HasMark(marked, "penstock.warm"));
  EXPECT_FALSE(HasMark(absl::DataLossError("it is cold"), "penstock.cold"));
  EXPECT_EQ(marked.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(marked.message(), "it is cold");
}

TEST(StatusMark, SurvivesPrefixes) {
  const absl::Status marked = Marked("penstock.cold", WithFault(Fault::kNoImage, absl::DataLossError("it is cold")));
  const absl::Status prefixed = Prefixed("outside", Prefixed("at night", marked));
  EXPECT_EQ(prefixed.message(), "outside: at night: it is cold");
  EXPECT_TRUE(HasMark(prefixed, "penstock.cold"));
  EXPECT_EQ(FaultOf(prefixed), Fault::kNoImage);
  EXPECT_TRUE(IsShortage(Prefixed("listing", ShortageError("no memory"))));
}

}  // namespace
}  // namespace penstock
