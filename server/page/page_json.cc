#include "server/page/page_json.h"

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "net/explain_sentence.h"
#include "net/message_json.h"

namespace penstock::server {

std::string ExplainJson(const v1::ExplainReply& reply, const std::string& coordinator) {
  std::vector<std::string> jobs;
  for (const v1::Explanation& job : reply.jobs()) {
    jobs.push_back(
        Json().Field("sentence", net::ExplainSentence(job)).Raw("explanation", net::MessageToJson(job)).Object());
  }
  return Json().Field("coordinator", coordinator).Raw("jobs", Json::Array(jobs)).Object();
}

std::string ShardsJson(const v1::ListShardsReply& reply, size_t most) {
  std::vector<std::string> shards;
  uint64_t indexed = 0;
  for (const auto& shard : reply.shards()) indexed += shard.indexed() ? 1 : 0;
  for (const bool with_index : {false, true}) {
    for (const auto& shard : reply.shards()) {
      if (shard.indexed() != with_index || shards.size() >= most) continue;
      shards.push_back(Json()
                           .Field("root", shard.shard().root())
                           .Field("path", shard.shard().path())
                           .Field("bytes", shard.shard().size())
                           .Field("records", shard.shard().records())
                           .Field("indexed", shard.indexed())
                           .Raw("owners", Json::QuotedArray({shard.owners().begin(), shard.owners().end()}))
                           .Object());
    }
  }
  const auto all = static_cast<uint64_t>(reply.shards_size());
  return Json()
      .Field("all", all)
      .Field("indexed", indexed)
      .Field("left_out", all - shards.size())
      .Raw("shards", Json::Array(shards))
      .Object();
}

}  // namespace penstock::server
