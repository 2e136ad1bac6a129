#include "base/status_place.h"

#include <gtest/gtest.h>

#include "base/fault.h"
#include "base/status_mark.h"

namespace penstock {
namespace {

TEST(StatusPlace, IsInTheMessageAndCanBeRemoved) {
  const absl::Status status = WithFault(Fault::kWrongCrc, absl::DataLossError("the CRC is wrong"));
  const absl::Status placed = AtPlace("a, record 3", Marked("penstock.cold", status));
  EXPECT_EQ(placed.message(), "a, record 3: the CRC is wrong");
  EXPECT_EQ(FaultOf(placed), Fault::kWrongCrc);
  EXPECT_TRUE(HasMark(placed, "penstock.cold"));
  EXPECT_EQ(WithoutPlace(placed), status);
  EXPECT_EQ(WithoutPlace(Prefixed("worker 1", placed)), status);
}

TEST(StatusPlace, AStatusWithoutAPlaceIsUnchanged) {
  const absl::Status status = absl::DataLossError("a, record 3: the CRC is wrong");
  EXPECT_EQ(WithoutPlace(status), status);
}

}  // namespace
}  // namespace penstock
