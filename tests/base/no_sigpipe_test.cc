#include "base/no_sigpipe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace penstock {
namespace {

// Writes to a pipe whose reading end is closed. Returns the errno.
int WriteToClosedPipe() {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  close(ends[0]);
  const int error = write(ends[1], "x", 1) < 0 ? errno : 0;
  close(ends[1]);
  return error;
}

void WriteGuarded() {
  {
    const NoSigpipe no_sigpipe;
    const NoSigpipe inner;
    if (WriteToClosedPipe() != EPIPE) std::_Exit(1);
  }
  std::_Exit(0);  // no signal waits
}

TEST(NoSigpipe, AWriteIsAnErrorWhileItExistsAndASignalAfterwards) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(WriteGuarded(), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        { const NoSigpipe no_sigpipe; }
        WriteToClosedPipe();
      },
      testing::KilledBySignal(SIGPIPE), "");
}

}  // namespace
}  // namespace penstock
