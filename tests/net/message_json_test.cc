#include "net/message_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "penstock/v1/control.pb.h"

namespace penstock::net {
namespace {

TEST(MessageToJson, HasAllFieldsAndNumbersAsNumbers) {
  v1::Shard shard;
  shard.set_path("a/b");
  shard.set_records(uint64_t{1} << 60);
  EXPECT_EQ(
      MessageToJson(shard),
      "{\"root\": \"\", \"path\": \"a/b\", \"size\": 0, \"records\": 1152921504606846976, \"content_hash\": \"0\", "
      "\"data_bytes\": 0, \"max_record_bytes\": 0, \"container\": \"TFRECORD\", "
      "\"whole_records\": 0, \"left_out\": 0, \"indexed_records\": 0, \"slice_first\": 0, \"slice_stride\": 0, "
      "\"groups\": "
      "{\"groups\": [], \"records\": [], \"names\": []}, \"row_type\": 0, \"longest_run\": 0}");
}

TEST(MessageToJson, HasAnEndWhereAMessageMayHoldItsOwnKind) {
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
TEST(MessageToJson, HashesAndIdsOf64BitsAreStrings) {
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

}  // namespace
}  // namespace penstock::net
