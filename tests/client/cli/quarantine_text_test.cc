#include "client/cli/quarantine_text.h"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

v1::QuarantineReply::Entry* Add(v1::QuarantineReply* reply, const std::string& path, uint64_t record,
                                const std::string& reason, const std::string& message) {
  v1::QuarantineReply::Entry* entry = reply->add_entries();
  entry->set_root("data");
  entry->set_path(path);
  entry->set_record(record);
  entry->set_reason(reason);
  entry->set_message(message);
  return entry;
}

TEST(QuarantineText, HasALineForEachRecordAndTheTotalCounts) {
  v1::QuarantineReply reply;
  reply.set_job("train");
  reply.set_records(1000);
  EXPECT_EQ(QuarantineText(reply), "no record of the 1,000 records of job 'train' is known to be bad\n");
  reply.set_bad_records(1203);
  Add(&reply, "train-0", 7, "truncated image", "libjpeg: Premature end of JPEG file")->set_offset(99);
  Add(&reply, "train-12", 123, "missing feature", "label: missing");
  for (const auto& [reason, count] : {std::pair("truncated image", 1200), std::pair("missing feature", 3)}) {
    v1::ReasonCount* add = reply.add_reasons();
    add->set_reason(reason);
    add->set_records(static_cast<uint64_t>(count));
  }
  reply.set_left_out(1201);
  EXPECT_EQ(QuarantineText(reply),
            "FILE           RECORD  OFFSET  REASON           MESSAGE\n"
            "data:train-0        7      99  truncated image  libjpeg: Premature end of JPEG file\n"
            "data:train-12     123       -  missing feature  label: missing\n"
            "\n"
            "1,203 of the 1,000 records of job 'train' are bad: 1,200 truncated image, 3 missing feature\n"
            "1,201 of them are not listed: the list keeps the first that were found\n");
}

}  // namespace
}  // namespace penstock::cli
