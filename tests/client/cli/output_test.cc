#include "client/cli/output.h"

#include <gtest/gtest.h>

#include "client/cli/npy_writer.h"
#include "penstock/v1/control.pb.h"

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

TEST(MessageToJson, WritesAllFieldsAndWritesNumbersAsNumbers) {
  v1::Shard shard;
  shard.set_path("a/b");
  shard.set_records(uint64_t{1} << 60);
  EXPECT_EQ(
      MessageToJson(shard),
      "{\"root\": \"\", \"path\": \"a/b\", \"size\": 0, \"records\": 1152921504606846976, \"content_hash\": \"0\", "
      "\"data_bytes\": 0, \"max_record_bytes\": 0, \"container\": \"TFRECORD\"}");
}

TEST(MessageToJson, EndsForMessagesThatMayContainTheirOwnType) {
  v1::JobRecord record;  // may contain another one, which may contain another one
  record.set_name("train");
  EXPECT_NE(MessageToJson(record).find("\"next\": null"), std::string::npos) << MessageToJson(record);
  record.mutable_next()->set_name("train");
  EXPECT_EQ(MessageToJson(record).find("\"next\": null"), MessageToJson(record).rfind("\"next\": null"));
  EXPECT_NE(MessageToJson(record).find("\"next\": {"), std::string::npos);
  EXPECT_NE(MessageToJson(v1::StatusReply::JobStatus()).find("\"next\": null"), std::string::npos);
  EXPECT_NE(MessageToJson(v1::WorkerStatus()).find("\"load\": {\"rows\": 0"), std::string::npos) << "all fields";
}

// jq and JavaScript keep 53 bits of a number.
TEST(MessageToJson, WritesHashesAndIdsOf64BitsAsStrings) {
  v1::Job job;
  job.set_uid(18446744073709551615u);
  job.set_revision(uint64_t{1} << 60);
  job.set_order_fingerprint((uint64_t{1} << 53) + 1);
  job.mutable_snapshot()->set_fingerprint(7);
  const std::string json = MessageToJson(job);
  for (const char* field : {"\"uid\": \"18446744073709551615\"", "\"revision\": \"1152921504606846976\"",
                            "\"order_fingerprint\": \"9007199254740993\"", "\"fingerprint\": \"7\""}) {
    EXPECT_NE(json.find(field), std::string::npos) << field << " in " << json;
  }
  v1::ReportTaskRequest report;
  EXPECT_NE(MessageToJson(report).find("\"task_id\": \"0\""), std::string::npos);
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
