#include "config/manual/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::config {
namespace {

using ::testing::HasSubstr;

ProgramText Program(const std::string& description) {
  ProgramText program;
  program.name = "mill";
  program.version = "1.2.3";
  program.summary = "grinds";
  program.commands = {{"grind", "JOB", "grind grain", description, {{"out", "FILE", "where ($PENSTOCK_OUT)"}}}};
  return program;
}

std::string PageWith(const std::string& description) {
  const ProgramText program = Program(description);
  return ManPageOf(program, program.commands[0]);
}

TEST(ManPage, HasTitleNameAndFlags) {
  const std::string page = PageWith("Grinds.");
  EXPECT_THAT(page, HasSubstr(".TH MILL\\-GRIND 1 \"\" \"penstock 1.2.3\""));
  EXPECT_THAT(page, HasSubstr(".SH NAME\nmill\\-grind \\- grind grain\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-out\\fR \\fIFILE\\fR\nwhere ($PENSTOCK_OUT)\n"));
  EXPECT_THAT(page, HasSubstr("\\fBPENSTOCK_OUT\\fR"));
}

TEST(ManPage, OfTheProgramListsItsCommands) {
  const std::string page = ManPageOf(Program("Grinds."));
  EXPECT_THAT(page, HasSubstr("\\fBgrind\\fR\ngrind grain\n"));
  EXPECT_THAT(page, HasSubstr("\\fBmill\\-grind\\fR(1)"));
}

TEST(ManPage, KeepsTheLinesOfExamples) {
  const std::string page = PageWith("Text\nand more.\n\n  mill grind a\n  mill grind b\n\nMore text.");
  EXPECT_THAT(page,
              HasSubstr("Text\nand more.\n.PP\n.RS 4\n.nf\nmill grind a\nmill grind b\n.fi\n.RE\n.PP\nMore text.\n"));
}

// A line that begins with a dot is a request to roff.
TEST(ManPage, EscapesWhatRoffWouldInterpret) {
  const std::string page = PageWith(".first 'a' `b` c\\d ~e");
  EXPECT_THAT(page, HasSubstr("\n\\&.first \\(aqa\\(aq \\(gab\\(ga c\\ed \\(tie\n"));
}

}  // namespace
}  // namespace penstock::config
