// Runs `penstock` as a user does, in a temporary folder.
#ifndef PENSTOCK_TESTS_CLIENT_CLI_COMMAND_TESTING_H_
#define PENSTOCK_TESTS_CLIENT_CLI_COMMAND_TESTING_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"

namespace penstock::cli {

struct Outcome {
  int code = -1;  // exit code; -1: killed
  std::string out, err;
};

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() { setenv("XDG_CACHE_HOME", dir_.File("cache").c_str(), 1); }

  // Starts `penstock ARGS...` in the temporary folder. Its output goes to files. Its input is stdin.txt, if that
  // exists.
  pid_t Start(const std::vector<std::string>& args) {
    const std::string input = StatFile(dir_.File("stdin.txt")).ok() ? "stdin.txt" : "/dev/null";
    std::string command = absl::StrCat("cd '", dir_.path(), "' && exec '", PENSTOCK, "'");
    for (const std::string& arg : args) absl::StrAppend(&command, " '", arg, "'");
    absl::StrAppend(&command, " >stdout.log 2>stderr.log <", input);
    std::string shell = "sh", flag = "-c";
    char* argv[] = {shell.data(), flag.data(), command.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, "/bin/sh", nullptr, nullptr, argv, environ), 0);
    return child;
  }
  Outcome Finish(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    Outcome outcome;
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    outcome.out = *ReadWholeFile(dir_.File("stdout.log"));
    outcome.err = *ReadWholeFile(dir_.File("stderr.log"));
    return outcome;
  }
  Outcome Run(const std::vector<std::string>& args) { return Finish(Start(args)); }

  void ExpectOk(const std::vector<std::string>& args) {
    const Outcome outcome = Run(args);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }

  // Writes a TFRecord file in the temporary folder, and the folders above it.
  void WriteShard(const std::string& name, const std::vector<std::string>& records) {
    std::filesystem::create_directories(std::filesystem::path(dir_.File(name)).parent_path());
    auto writer = sources::TFRecordWriter::Open(storage::LocalFiles(), dir_.File(name));
    ASSERT_TRUE(writer.ok()) << writer.status();
    for (const std::string& record : records) ASSERT_TRUE((*writer)->Write(record).ok());
    ASSERT_TRUE((*writer)->Close().ok());
  }

  TempDir dir_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_TESTS_CLIENT_CLI_COMMAND_TESTING_H_
