#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "config/manual/completion.h"
#include "tests/config/manual/complete_line.h"

namespace penstock::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

ProgramText SmallProgram() {
  ProgramText program;
  program.name = "mill";
  program.commands = {
      {"grind", "JOB [flags]", "", "", {{"order", "shuffled|sorted", ""}, {"fine", "", ""}, {"steps", "N", ""}}},
      {"grow", "SOURCE... --out DIR [flags]", "", "", {{"out", "DIR", ""}, {"tls-ca", "FILE", ""}}},
      {"stop", "WORKER [flags]", "", "", {{"coordinator", "HOST:PORT", ""}}},
      {"store", "list|clear FOLDER", "", "", {}},
  };
  return program;
}

class BashCompletion : public ::testing::Test {
 protected:
  std::vector<std::string> Offered(const std::string& line) {
    return CompleteLine(dir_, BashCompletionOf(SmallProgram()), "mill", line);
  }
  TempDir dir_;
};

TEST_F(BashCompletion, OffersCommands) {
  EXPECT_THAT(Offered("mill "), UnorderedElementsAre("grind", "grow", "stop", "store", "help"));
  EXPECT_THAT(Offered("mill gr"), UnorderedElementsAre("grind", "grow"));
  EXPECT_THAT(Offered("mill help st"), UnorderedElementsAre("stop", "store"));
  EXPECT_THAT(Offered("mill unknown --"), IsEmpty());
}

TEST_F(BashCompletion, OffersFlagsOfTheCommand) {
  EXPECT_THAT(Offered("mill grind --"), UnorderedElementsAre("--order", "--fine", "--steps", "--help"));
  EXPECT_THAT(Offered("mill grind wheat --o"), ElementsAre("--order"));
  EXPECT_THAT(Offered("mill grind --no-f"), ElementsAre("--no-fine"));
  EXPECT_THAT(Offered("mill --v"), ElementsAre("--version"));
}

TEST_F(BashCompletion, OffersValuesAfterABlankAndAfterAnEqualsSign) {
  EXPECT_THAT(Offered("mill grind --order "), ElementsAre("shuffled", "sorted"));
  EXPECT_THAT(Offered("mill grind --order=so"), ElementsAre("sorted"));
  EXPECT_THAT(Offered("mill grind --steps "), IsEmpty());
}

TEST_F(BashCompletion, OffersFilesAndFolders) {
  dir_.Write("field/wheat.txt", "");
  dir_.Write("field.txt", "");
  EXPECT_THAT(Offered("mill grow fie"), UnorderedElementsAre("field", "field.txt"));
  EXPECT_THAT(Offered("mill grow one two fie"), UnorderedElementsAre("field", "field.txt"));
  EXPECT_THAT(Offered("mill grow --out fie"), ElementsAre("field"));
  EXPECT_THAT(Offered("mill grow --tls-ca=field/"), ElementsAre("field/wheat.txt"));
  EXPECT_THAT(Offered("mill store clear fie"), ElementsAre("field"));
  EXPECT_THAT(Offered("mill store "), ElementsAre("list", "clear"));
}

TEST_F(BashCompletion, CountsNoValueOfAFlagAsAnArgument) {
  dir_.Write("field/wheat.txt", "");
  EXPECT_THAT(Offered("mill grow --out field fie"), ElementsAre("field"));
  EXPECT_THAT(Offered("mill store --help l"), ElementsAre("list"));
}

// The program itself knows the names: a file of the folder stands for it, and is called as the line calls it.
class NamesInBash : public BashCompletion {
 protected:
  NamesInBash() {
    dir_.Write("mill",
               "#!/bin/sh\necho \"$@\" >called.txt\n"
               "case $1 in jobs) printf 'wheat\\nrye\\n$(touch hacked)\\n' ;; *) printf '10.0.0.7:71\\n10.0.0.8:71\\n' "
               ";; esac\n");
    chmod(dir_.File("mill").c_str(), 0700);
  }
  std::string called() const { return *ReadWholeFile(dir_.File("called.txt")); }
};

TEST_F(NamesInBash, AreThoseOfTheCoordinatorThatTheLineNames) {
  EXPECT_THAT(Offered("./mill stop --coordinator a:1 --tls-ca=ca.pem "), ElementsAre("10.0.0.7:71", "10.0.0.8:71"));
  EXPECT_EQ(called(), "workers --names --coordinator a:1 --tls-ca=ca.pem\n");
}

TEST_F(NamesInBash, ContainNoShellCommand) {
  EXPECT_THAT(Offered("./mill grind "), ElementsAre("wheat", "rye"));
  EXPECT_FALSE(StatFile(dir_.File("hacked")).ok());
}

// Bash takes the colon for the beginning of a new word.
TEST_F(NamesInBash, ContinueAfterAColon) { EXPECT_THAT(Offered("./mill stop 10.0.0.7:"), ElementsAre("71")); }

TEST_F(BashCompletion, OffersSharedFlagsBeforeAndAfterTheCommand) {
  ProgramText daemon;
  daemon.name = "milld";
  daemon.flags = {{"config", "FILE", ""}, {"level", "info|warn", ""}, {"json", "", ""}};
  daemon.commands = {{"day", "[flags]", "", "", {}}, {"night", "[flags]", "", "", {}}};
  const auto offered = [&](const std::string& line) {
    return CompleteLine(dir_, BashCompletionOf(daemon), "milld", line);
  };
  EXPECT_THAT(offered("milld --json --config x d"), ElementsAre("day"));
  EXPECT_THAT(offered("milld day --level "), ElementsAre("info", "warn"));
  EXPECT_THAT(offered("milld --lev"), ElementsAre("--level"));
}

}  // namespace
}  // namespace penstock::config
