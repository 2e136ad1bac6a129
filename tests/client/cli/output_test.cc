#include "client/cli/output.h"

#include <gtest/gtest.h>

#include "client/cli/npy_writer.h"

namespace penstock::cli {
namespace {

TEST(Numbers, AreReadable) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1281167), "1,281,167");
  EXPECT_EQ(Count(0, "shard"), "0 shards");
  EXPECT_EQ(Count(1, "shard"), "1 shard");
  EXPECT_EQ(Count(1000, "shard"), "1,000 shards");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{256} << 20), "256 MiB");
  EXPECT_EQ(HumanSeconds(0.35), "350 ms");
  EXPECT_EQ(HumanSeconds(7500), "2 h 05 min");
}

TEST(Table, AlignsNumbersToTheRight) {
  Table table({"JOB", "RECORDS"}, {1});
  table.Add({"a", "12"});
  table.Add({"longer", "1,234,567"});
  EXPECT_EQ(table.Text(),
            "JOB       RECORDS\n"
            "a              12\n"
            "longer  1,234,567\n");
}

}  // namespace
}  // namespace penstock::cli
