#include "client/cli/explain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace penstock::cli {
namespace {

using ::testing::HasSubstr;

v1::Explanation Example() {
  v1::Explanation explanation;
  explanation.set_job("train");
  explanation.set_limit(v1::Explanation::CPU);
  explanation.set_headline("the CPU of worker host-3f2a91c0");
  explanation.add_sentences(
      "The trainer waited 48 % of the last 9 s. It took 812 rows/s, and here are some more words, so that the line is "
      "to be cut between two of them, twice at the least if it has to fit into a terminal of eighty.");
  for (const char* stage : {"read", "decode", "random_resized_crop"}) {
    v1::Explanation::Share* share = explanation.add_shares();
    share->set_stage(stage);
    share->set_milliseconds(0.5);
    share->set_share(1.0 / 3);
  }
  v1::Explanation::Gain* gain = explanation.add_gains();
  gain->set_change("decoded_cache_bytes, from the second epoch on; all images take about 12.0 GB over all workers");
  gain->set_times(1.9);
  explanation.add_gains()->set_change("a faster link");
  explanation.set_rows_per_second(812);
  explanation.set_waited(0.48);
  explanation.set_workers(1);
  explanation.set_workers_needed(2);
  for (const char* worker : {"host-3f2a91c0", "host-0a0b0c0d"}) {
    v1::Explanation::WorkerUse* use = explanation.add_uses();
    use->set_worker(worker);
    use->set_computing(0.97);
  }
  return explanation;
}

TEST(ExplainText, FitsIn80ColumnsAndBeginsWithTheLimit) {
  const std::string text = ExplainText(Example());
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines[0], "job train: the limit is the CPU of worker host-3f2a91c0");
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, HasSubstr(" 1.9 times  decoded_cache_bytes"));
  EXPECT_THAT(text, HasSubstr("            a faster link"));
}

TEST(ExplainText, TopHasALineForEachJob) {
  v1::ExplainReply reply;
  EXPECT_THAT(TopText(reply), HasSubstr("no job has a reader"));
  *reply.add_jobs() = Example();
  const std::string text = TopText(reply);
  EXPECT_THAT(text, HasSubstr("812"));
  EXPECT_THAT(text, HasSubstr("48 %"));
  EXPECT_THAT(text, HasSubstr("1 of 2"));
  EXPECT_THAT(text, HasSubstr("the CPU of worker"));
}

}  // namespace
}  // namespace penstock::cli
