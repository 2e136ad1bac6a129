// Programs that run for their output.
#include "pipeline/storage/object/common/program_output.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::storage {
namespace {

absl::StatusOr<std::string> Ran(const std::string& command, Nanos limit = 20 * kSecond,
                                const std::stop_token& stop = {}) {
  return OutputOf(command, limit, stop);
}

TEST(ProgramOutput, ContainsStandardOutputWithoutStandardError) {
  EXPECT_EQ(Ran("printf '%s' \"a b\"; echo hunter2 >&2").value(), "a b");
  EXPECT_EQ(Ran("cat").value(), "") << "the program has no input";
}

TEST(ProgramOutput, AFailureReportsTheExitCodeAndNoOutput) {
  const absl::Status failed = Ran("echo hunter2; exit 3").status();
  EXPECT_EQ(failed, absl::PermissionDeniedError("it ended with exit code 3"));
  EXPECT_EQ(Ran("kill -9 $$").status(), absl::PermissionDeniedError("it was ended by signal 9"));
  EXPECT_EQ(Ran("/nowhere/keys").status(), absl::PermissionDeniedError("it ended with exit code 127"));
  EXPECT_EQ(Ran("yes").status(), absl::PermissionDeniedError("it prints more than 64 KiB"));
}

TEST(ProgramOutput, AProgramThatDoesNotEndIsKilledWithItsChildren) {
  // A program that ended by itself would give no error, and only after the time limit of this test.
  EXPECT_TRUE(absl::IsUnavailable(Ran("sleep 3600 & sleep 3600", kSecond / 10).status()));
  EXPECT_TRUE(absl::IsUnavailable(Ran("exec >&-; sleep 3600", kSecond / 10).status())) << "closes its output";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled(Ran("sleep 3600", 20 * kSecond, stop.get_token()).status()));
}

}  // namespace
}  // namespace penstock::storage
