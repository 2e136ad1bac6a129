#include "client/cli/describe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

std::string TextOf(const v1::DescribeReply& reply) { return DescribeText(reply, kNow, absl::UTCTimeZone()); }

void AddEvent(v1::DescribeReply* reply, v1::HistoryEvent::Kind kind, int64_t seconds_ago, const std::string& message,
              const std::string& by) {
  v1::HistoryEvent* const event = reply->add_events();
  event->set_kind(kind);
  event->set_unix_ms((1'800'000'000 - seconds_ago) * 1000);
  event->set_message(message);
  event->set_by(by);
}

TEST(DescribeText, AJobHasFactsPartsReadersJobFileAndEvents) {
  v1::DescribeReply reply;
  v1::StatusReply::JobStatus* const job = reply.mutable_job();
  job->set_name("train");
  job->set_state(v1::READY);
  job->set_owner("alice");
  job->set_records(1000);
  job->set_shards(4);
  job->set_batch_size(32);
  for (const uint32_t rank : {1, 0}) {
    v1::StatusReply::SessionStatus* const session = job->add_sessions();
    session->set_id(rank == 0 ? "aaaa" : "bbbb");
    session->set_rank(rank);
    session->set_world_size(2);
  }
  reply.mutable_spec()->set_name("train");
  reply.mutable_view()->set_number(3);
  reply.mutable_view()->set_term(2);
  reply.mutable_view()->set_key_space(100);
  reply.mutable_view()->add_workers()->set_name("w1");
  reply.mutable_view()->add_ranges()->set_end(25);
  AddEvent(&reply, v1::HistoryEvent::SUBMITTED, 7200, "", "alice");
  AddEvent(&reply, v1::HistoryEvent::VIEW, 30, "view 3 on 1 worker", "");
  reply.set_dropped_events(12);
  const std::string text = TextOf(reply);
  EXPECT_THAT(text,
              AllOf(HasSubstr("job train\n  state         ready, 2 readers\n"), HasSubstr("  owner         alice\n"),
                    HasSubstr("1,000 records in 4 shards"), HasSubstr("  w1                    1  25.0 %\n"),
                    HasSubstr("\nJob file\n  name: \"train\"\n"), Not(HasSubstr("Bad records"))));
  EXPECT_LT(text.find("train/aaaa"), text.find("train/bbbb"));  // by rank
  EXPECT_THAT(text, HasSubstr("\nEvents, oldest first (UTC)\n"
                              "  2027-01-15 06:00:00   2 h 00 min ago  submitted       by alice\n"
                              "  2027-01-15 07:59:30       30.0 s ago  view            view 3 on 1 worker\n"
                              "  (12 older events of all jobs and workers, at most, made room for newer ones)\n"));
}

TEST(DescribeText, AWorkerHasItsSettingsAndParts) {
  v1::DescribeReply reply;
  reply.mutable_worker()->set_id("w-1");
  reply.mutable_worker()->set_name("gpu7");
  reply.mutable_worker()->set_state(v1::WorkerStatus::DRAINING);
  reply.mutable_worker()->set_milliseconds_since_heartbeat(350);
  reply.mutable_worker()->set_memory_budget_bytes(1 << 30);
  reply.mutable_worker()->set_memory_budget_source("--memory-budget");
  reply.mutable_worker()->mutable_load()->add_troubles("/data/a: cannot be opened");
  reply.mutable_registration()->add_roots("imagenet");
  v1::DescribeReply::Part* const part = reply.add_parts();
  part->set_job("train");
  part->set_records(1234);
  EXPECT_THAT(
      TextOf(reply),
      AllOf(HasSubstr("worker gpu7\n  id            w-1\n  state         draining, last heartbeat 350 ms ago\n"),
            HasSubstr("0 B of 1.0 GiB (--memory-budget)"), HasSubstr("  data roots    imagenet\n"),
            HasSubstr("\nFiles that fail\n  worker gpu7: /data/a: cannot be opened\n"),
            HasSubstr("train    1,234    0 B\n"), HasSubstr("\nEvents, oldest first (UTC)\n  none\n")));
}

}  // namespace
}  // namespace penstock::cli
