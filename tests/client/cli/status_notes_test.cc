#include "client/cli/status_notes.h"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

TEST(StatusNotes, EveryTroubleOfAWorkerIsALineThatNamesIt) {
  v1::StatusReply status;
  EXPECT_EQ(TroubleLines(status), "");
  status.add_workers()->set_id("well");
  v1::WorkerStatus* worker = status.add_workers();
  worker->set_id("w1");
  worker->mutable_load()->add_troubles("/data/train-7: No such file or directory; trying again");
  worker->mutable_load()->add_troubles("/data/train-9: Permission denied; trying again");
  EXPECT_EQ(TroubleLines(status),
            "  worker w1: /data/train-7: No such file or directory; trying again\n"
            "  worker w1: /data/train-9: Permission denied; trying again\n");
}

TEST(StatusNotes, WhatAReaderWaitsForIsALineThatNamesIt) {
  v1::StatusReply status;
  auto* job = status.add_jobs();
  job->set_name("train");
  job->add_sessions()->set_id("s1-1");
  EXPECT_EQ(WaitLines(status), "");
  auto* session = job->add_sessions();
  session->set_id("s1-2");
  session->set_rank(1);
  session->set_waiting_for("12 rows of step 40 from w1");
  EXPECT_EQ(WaitLines(status), "  train/s1-2, rank 1: 12 rows of step 40 from w1\n");
}

TEST(StatusNotes, AReadyJobSaysWhatItWaitsFor) {
  v1::StatusReply::JobStatus job;
  job.set_state(v1::READY);
  job.add_sessions();
  EXPECT_EQ(JobNote(job), "1 reader");
  job.set_bad_records(12);
  for (const auto& [reason, count] : {std::pair("truncated image", 9), std::pair("missing feature", 3)}) {
    v1::ReasonCount* add = job.add_bad_reasons();
    add->set_reason(reason);
    add->set_records(static_cast<uint64_t>(count));
  }
  EXPECT_EQ(JobNote(job), "1 reader, 12 bad records (9 truncated image, 3 missing feature)");
  job.clear_bad_records();
  job.set_waiting("no worker is live");
  EXPECT_EQ(JobNote(job), "1 reader; waits: no worker is live");
  job.set_state(v1::PREPARING);
  EXPECT_EQ(JobNote(job), "waits: no worker is live");
  job.clear_waiting();
  job.set_shards(8);
  EXPECT_EQ(JobNote(job), "0 of 8 shards indexed");
}

}  // namespace
}  // namespace penstock::cli
