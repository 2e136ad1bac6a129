#include "server/self_checks/self_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/clock.h"
#include "net/checks/host_checks.h"

namespace penstock::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> TextOf(const SelfChecks& checks) {
  google::protobuf::RepeatedPtrField<v1::Finding> findings;
  checks.CopyTo(&findings);
  std::vector<std::string> texts;
  for (const v1::Finding& finding : findings) {
    texts.push_back(absl::StrCat(finding.fault() ? "fault " : "", finding.check(), ": ", finding.message()));
  }
  return texts;
}

TEST(SelfChecks, AFindingIsKeptUntilTheNextRun) {
  ManualClock clock;
  int runs = 0;
  SelfChecks checks({{"a", [&] { return net::Fine(absl::StrCat(++runs)); }, 5 * kSecond},
                     {"b", [] { return net::Fault("gone"); }, 5 * kSecond}},
                    &clock);
  EXPECT_THAT(TextOf(checks), IsEmpty());
  checks.RunDue();
  EXPECT_THAT(TextOf(checks), ElementsAre("a: 1", "fault b: gone"));
  clock.Advance(4 * kSecond);
  checks.RunDue();
  EXPECT_THAT(TextOf(checks), ElementsAre("a: 1", "fault b: gone"));
  clock.Advance(kSecond);
  checks.RunDue();
  EXPECT_THAT(TextOf(checks), ElementsAre("a: 2", "fault b: gone"));
}

TEST(SelfChecks, ACheckThatHangsIsAFaultAndDelaysNoOther) {
  ManualClock clock;
  SelfChecks* running = nullptr;
  int others = 0;
  // While the first check runs, the test looks at the findings and begins the next round, as another thread would.
  SelfChecks checks({{"nfs",
                      [&] {
                        EXPECT_EQ(running->running(), 1u);
                        clock.Advance(4 * kSecond);
                        EXPECT_THAT(TextOf(*running), IsEmpty());
                        clock.Advance(3 * kSecond);
                        running->RunDue();
                        EXPECT_THAT(TextOf(*running),
                                    ElementsAre("fault nfs: no answer for 7 s. Check the mount, or the server of the "
                                                "storage",
                                                "other: 1"));
                        return net::Fine("back");
                      },
                      60 * kSecond},
                     {"other", [&] { return net::Fine(absl::StrCat(++others)); }, 60 * kSecond}},
                    &clock);
  running = &checks;
  checks.RunDue();
  EXPECT_EQ(checks.running(), 0u);
  EXPECT_THAT(TextOf(checks), ElementsAre("nfs: back", "other: 1"));
}

}  // namespace
}  // namespace penstock::server
