#include "client/cli/purge_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/human_bytes.h"
#include "base/json.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

uint64_t SumOf(const v1::PurgedBytes& bytes) { return bytes.indexes() + bytes.memory() + bytes.disk(); }

v1::PurgedBytes TotalOf(const v1::PurgeReply& reply) {
  v1::PurgedBytes total;
  for (const v1::PurgePart& part : reply.parts()) {
    total.set_indexes(total.indexes() + part.freed().indexes());
    total.set_memory(total.memory() + part.freed().memory());
    total.set_disk(total.disk() + part.freed().disk());
  }
  return total;
}

std::string BytesText(const v1::PurgedBytes& bytes) {
  return absl::StrCat(HumanBytes(bytes.indexes()), " of indexes, ", HumanBytes(bytes.memory()), " in memory, ",
                      HumanBytes(bytes.disk()), " in the disk cache");
}

std::string BytesJson(const v1::PurgedBytes& bytes) {
  return Json().Field("indexes", bytes.indexes()).Field("memory", bytes.memory()).Field("disk", bytes.disk()).Object();
}

std::string WhyNotDone(const v1::PurgePart& part) {
  if (!part.message().empty()) return part.message();
  return part.state() == v1::PurgePart::WAITING ? "no answer" : "failed";
}

}  // namespace

std::string PurgeText(const std::string& job, const v1::PurgeReply& reply) {
  std::string text = absl::StrCat(reply.deleted() ? "deleted and purged: " : "not purged completely: ", job, "\n");
  for (const v1::PurgePart& part : reply.parts()) {
    absl::StrAppend(&text, "  ", part.name(), ": ", BytesText(part.freed()));
    if (part.state() != v1::PurgePart::DONE) absl::StrAppend(&text, "; not finished: ", WhyNotDone(part));
    absl::StrAppend(&text, "\n");
  }
  if (reply.kept_shards() > 0) {
    absl::StrAppend(&text, "  ", Count(reply.kept_shards()), " of ", Count(reply.shards(), "shard"),
                    " are in use by other jobs: their indexes stay",
                    reply.kept_records() ? ", and so do all cached records" : "", "\n");
  }
  absl::StrAppend(&text, "freed: ", HumanBytes(SumOf(TotalOf(reply))), "\n");
  return text;
}

std::string PurgeJson(const std::string& job, const v1::PurgeReply& reply) {
  std::vector<std::string> parts;
  for (const v1::PurgePart& part : reply.parts()) {
    parts.push_back(Json()
                        .Field("name", part.name())
                        .Field("state", v1::PurgePart::State_Name(part.state()))
                        .Field("message", part.message())
                        .Raw("freed_bytes", BytesJson(part.freed()))
                        .Object());
  }
  return Json()
      .Field("job", job)
      .Field("deleted", reply.deleted())
      .Field("shards", uint64_t{reply.shards()})
      .Field("kept_shards", uint64_t{reply.kept_shards()})
      .Field("kept_records", reply.kept_records())
      .Raw("parts", Json::Array(parts))
      .Raw("freed_bytes", BytesJson(TotalOf(reply)))
      .Object();
}

absl::Status PurgeResult(const std::string& job, const v1::PurgeReply& reply) {
  if (reply.deleted()) return absl::OkStatus();
  std::vector<std::string> left;
  for (const v1::PurgePart& part : reply.parts()) {
    if (part.state() != v1::PurgePart::DONE) left.push_back(absl::StrCat(part.name(), " (", WhyNotDone(part), ")"));
  }
  if (left.empty()) left.push_back("the deletion of the job");
  return absl::FailedPreconditionError(
      absl::StrCat("the purge of job ", job, " lacks ", absl::StrJoin(left, "; "),
                   ". The job has ended, and stays in the list of jobs. Repeat `penstock delete ", job,
                   " --purge` when the worker is back. Or give up: `penstock delete ", job,
                   "`, and `penstock cache clear FOLDER` on the worker's host for its disk cache"));
}

}  // namespace penstock::cli
