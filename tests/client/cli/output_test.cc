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

// numpy/lib/format.py: the data begins at a multiple of 64, the header ends with a newline, a tuple of one has a comma.
TEST(NpyHeader, FollowsNumPysFormat) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {5}, {256, 224, 224, 3}}) {
    const std::string header = NpyHeader("<i8", shape);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ(static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]), header.size() - 10);
    EXPECT_EQ(header.back(), '\n');
  }
  EXPECT_NE(NpyHeader("<i8", {5}).find("'shape': (5,), }"), std::string::npos);
  EXPECT_NE(NpyHeader("|u1", {2, 3}).find("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::cli
