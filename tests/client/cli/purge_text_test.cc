#include "client/cli/purge_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void Add(const std::string& name, v1::PurgePart::State state, uint64_t disk, const std::string& message,
         v1::PurgeReply* reply) {
  v1::PurgePart* const part = reply->add_parts();
  part->set_name(name);
  part->set_state(state);
  part->set_message(message);
  part->mutable_freed()->set_disk(disk);
  part->mutable_freed()->set_indexes(512);
}

TEST(PurgeText, ListsEachProcessAndTheTotal) {
  v1::PurgeReply reply;
  reply.set_deleted(true);
  reply.set_shards(1024);
  reply.set_kept_shards(1000);
  Add("coordinator", v1::PurgePart::DONE, 0, "", &reply);
  Add("worker w1", v1::PurgePart::DONE, 2048, "", &reply);
  EXPECT_EQ(PurgeText("train", reply),
            "deleted and purged: train\n"
            "  coordinator: 512 B of indexes, 0 B in memory, 0 B in the disk cache\n"
            "  worker w1: 512 B of indexes, 0 B in memory, 2.0 KiB in the disk cache\n"
            "  1,000 of 1,024 shards are in use by other jobs: their indexes stay\n"
            "freed: 3.0 KiB\n");
  EXPECT_TRUE(PurgeResult("train", reply).ok());
  EXPECT_THAT(PurgeJson("train", reply),
              HasSubstr("\"freed_bytes\": {\"indexes\": 1024, \"memory\": 0, \"disk\": 2048}}"));
}

TEST(PurgeText, NamesTheProcessesThatHaveNotFinished) {
  v1::PurgeReply reply;
  Add("coordinator", v1::PurgePart::DONE, 0, "", &reply);
  Add("worker w1", v1::PurgePart::WAITING, 0, "", &reply);
  Add("worker w2", v1::PurgePart::FAILED, 0, "cannot remove x", &reply);
  EXPECT_THAT(PurgeText("train", reply), AllOf(HasSubstr("not purged completely: train\n"),
                                               HasSubstr("worker w2: 512 B of indexes, 0 B in memory, 0 B in the disk "
                                                         "cache; not finished: cannot remove x\n")));
  EXPECT_THAT(std::string(PurgeResult("train", reply).message()),
              AllOf(HasSubstr("worker w1 (no answer); worker w2 (cannot remove x)"), Not(HasSubstr("coordinator")),
                    HasSubstr("`penstock delete train --purge` when the worker is back")));
}

}  // namespace
}  // namespace penstock::cli
