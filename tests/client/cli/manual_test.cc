// The man pages and completions of the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/all_commands.h"
#include "config/manual/manual_files.h"
#include "server/daemon_options.h"
#include "tests/config/manual/complete_line.h"

namespace penstock::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

config::ProgramText Penstock() { return ProgramTextOf(AllCommands(nullptr)); }
config::ProgramText Penstockd() { return server::DaemonProgramText("1.2.3"); }

std::map<std::string, std::string> FilesOf(const config::ProgramText& program) {
  std::map<std::string, std::string> files;
  for (const config::ManualFile& file : config::ManualFilesOf(program)) files[file.path] = file.content;
  return files;
}

std::string InRoff(const std::string& flag) { return absl::StrReplaceAll("--" + flag, {{"-", "\\-"}}); }

TEST(Manual, HasEachCommandAndFlagOfPenstock) {
  const config::ProgramText program = Penstock();
  std::map<std::string, std::string> files = FilesOf(program);
  const std::string bash = files["bash-completion/completions/penstock"],
                    zsh = files["zsh/vendor-completions/_penstock"];
  ASSERT_GT(program.commands.size(), 25u);
  for (const config::CommandText& command : program.commands) {
    SCOPED_TRACE(command.name);
    EXPECT_THAT(files["man/man1/penstock.1"], HasSubstr(absl::StrReplaceAll(command.name, {{"-", "\\-"}}) + "\\fR\n"));
    const std::string page = files[absl::StrCat("man/man1/penstock-", command.name, ".1")];
    const size_t in_bash = bash.find(absl::StrCat("\n    ", command.name, ")\n"));
    ASSERT_NE(in_bash, std::string::npos);
    const std::string bash_flags = bash.substr(in_bash, bash.find("switches=", in_bash) - in_bash);
    const size_t in_zsh = zsh.find(absl::StrCat("\n        ", command.name, ")\n"));
    ASSERT_NE(in_zsh, std::string::npos);
    const std::string zsh_flags = zsh.substr(in_zsh, zsh.find(";;", in_zsh) - in_zsh);
    for (const config::FlagText& flag : command.flags) {
      EXPECT_THAT(page, HasSubstr("\n\\fB" + InRoff(flag.name) + "\\fR"));
      EXPECT_THAT(bash_flags, HasSubstr("--" + flag.name + " "));
      EXPECT_THAT(zsh_flags, HasSubstr("--" + flag.name + (flag.is_switch() ? "[" : "=[")));
    }
  }
}

TEST(Manual, HasEachRoleAndFlagOfPenstockd) {
  const config::ProgramText program = Penstockd();
  std::map<std::string, std::string> files = FilesOf(program);
  ASSERT_EQ(files.size(), 3u);
  for (const config::CommandText& role : program.commands) {
    for (const auto& [path, content] : files) EXPECT_THAT(content, HasSubstr(role.name)) << path;
  }
  for (const config::FlagText& flag : program.flags) {
    EXPECT_THAT(files["man/man8/penstockd.8"], HasSubstr("\n\\fB" + InRoff(flag.name) + "\\fR"));
    EXPECT_THAT(files["bash-completion/completions/penstockd"], HasSubstr("--" + flag.name + " "));
    EXPECT_THAT(files["zsh/vendor-completions/_penstockd"], HasSubstr("--" + flag.name));
  }
}

class RealCompletion : public ::testing::Test {
 protected:
  std::vector<std::string> Offered(const config::ProgramText& program, const std::string& line) {
    return config::CompleteLine(dir_, FilesOf(program)["bash-completion/completions/" + program.name], program.name,
                                line);
  }
  TempDir dir_;
};

TEST_F(RealCompletion, CompletesLinesOfPenstock) {
  dir_.Write("train.textproto", "");
  EXPECT_THAT(Offered(Penstock(), "penstock ver"), ElementsAre("verify"));
  EXPECT_THAT(Offered(Penstock(), "penstock submit trai"), ElementsAre("train.textproto"));
  EXPECT_THAT(Offered(Penstock(), "penstock read train --until"), ElementsAre("--until-epoch"));
  EXPECT_THAT(Offered(Penstock(), "penstock import x --order "), UnorderedElementsAre("shuffled", "sorted"));
  EXPECT_THAT(Offered(Penstock(), "penstock token alice --role tr"), ElementsAre("trainer"));
}

TEST_F(RealCompletion, CompletesLinesOfPenstockd) {
  EXPECT_THAT(Offered(Penstockd(), "penstockd wor"), ElementsAre("worker"));
  EXPECT_THAT(Offered(Penstockd(), "penstockd worker --log-level="), Contains("debug"));
}

}  // namespace
}  // namespace penstock::cli
