#include "config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Target {
  std::string address = "localhost:7070";
  std::vector<std::string> roots;
  uint64_t steps = 0, bytes = 0;
  bool json = false, progress = true;
  Flags flags;
  Target() {
    flags.AddString("coordinator", &address, "HOST:PORT", "where it is");
    flags.AddStrings("data-root", &roots, "DIR", "a folder; may be repeated");
    flags.AddUint("steps", &steps, "N", "how many");
    flags.AddBytes("memory-budget", &bytes, "BYTES", "how much");
    flags.AddSwitch("json", &json, "machine-readable");
    flags.AddSwitch("progress", &progress, "a bar");
  }
};

TEST(Flags, AreParsedInBothSpellingsAmongArguments) {
  Target t;
  const auto rest = t.flags.Parse({"job", "--coordinator", "a:1", "--data-root=x", "--json", "--data-root", "y",
                                   "--steps=7", "--no-progress", "--memory-budget", "256MiB", "--", "--odd"});
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_THAT(*rest, ElementsAre("job", "--odd"));
  EXPECT_EQ(t.address, "a:1");
  EXPECT_THAT(t.roots, ElementsAre("x", "y"));
  EXPECT_EQ(t.steps, 7u);
  EXPECT_EQ(t.bytes, uint64_t{256} << 20);
  EXPECT_TRUE(t.json);
  EXPECT_FALSE(t.progress);
  EXPECT_TRUE(t.flags.Given("json"));
}

TEST(Flags, MistakesNameTheFlagAndARemedy) {
  const auto error = [](std::vector<std::string> args) {
    Target t;
    return std::string(t.flags.Parse(args).status().message());
  };
  EXPECT_THAT(error({"--coordinatr", "x"}), HasSubstr("did you mean '--coordinator'"));
  EXPECT_THAT(error({"--steps"}), HasSubstr("--steps needs a value"));
  EXPECT_THAT(error({"--steps", "-3"}), HasSubstr("'-3' is not a whole number"));
  EXPECT_THAT(error({"--json=no"}), HasSubstr("--json: 'no' is neither true nor false"));
  EXPECT_THAT(error({"--memory-budget", "lots"}), HasSubstr("--memory-budget: 'lots'"));
}

TEST(Flags, BytesMayHaveUnits) {
  EXPECT_EQ(*ParseBytes("1.5GiB"), uint64_t{3} << 29);
  EXPECT_EQ(*ParseBytes("10kb"), 10000u);
  EXPECT_EQ(*ParseBytes("12"), 12u);
  EXPECT_FALSE(ParseBytes("").ok());
  EXPECT_FALSE(ParseBytes("-1").ok());
  EXPECT_FALSE(ParseBytes("1e300").ok());
  EXPECT_FALSE(ParseBytes("MiB").ok());
}

TEST(Flags, HelpShowsEachFlagOnce) {
  Target t;
  EXPECT_THAT(t.flags.Help(), HasSubstr("--coordinator HOST:PORT"));
  EXPECT_THAT(t.flags.Help(), HasSubstr("may be repeated"));
}

TEST(Flags, HelpIsWrappedWithoutTrailingSpaces) {
  std::string value;
  Flags flags;
  flags.AddString("long", &value, "TEXT",
                  std::string(30, 'a') + " " + std::string(60, 'b') + " " + std::string(20, 'c'));
  EXPECT_THAT(flags.Help(), HasSubstr("b\n"));
  EXPECT_THAT(flags.Help(), Not(HasSubstr(" \n")));
}

}  // namespace
}  // namespace penstock::config
