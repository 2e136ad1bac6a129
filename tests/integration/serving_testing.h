// A small data set whose epochs end in a partial step, for tests that serve it.
#ifndef PENSTOCK_TESTS_INTEGRATION_SERVING_TESTING_H_
#define PENSTOCK_TESTS_INTEGRATION_SERVING_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {

class ServingTest : public ::testing::Test {
 protected:
  // 5 shards of 40 images in steps of 16: 12.5 steps, so that the last one is partial.
  ServingTest() : dataset_(support::MakeImageDataset({.shards = 5, .records_per_shard = 40}, folder_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
    dataset_.job.mutable_batch()->set_last(v1::PAD);
  }
  support::ReadPlan Plan(uint64_t epochs = 2) const { return support::EpochsOf(dataset_.job, epochs); }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

}  // namespace penstock::integration

#endif  // PENSTOCK_TESTS_INTEGRATION_SERVING_TESTING_H_
