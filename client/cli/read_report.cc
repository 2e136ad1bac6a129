#include "client/cli/read_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

// Returns "120 rows fetched again, 80 of them from another worker; 2 broken streams; 3 rows came twice", or "".
std::string Recovered(const ReaderStats& stats) {
  std::vector<std::string> parts;
  if (stats.fetched_rows > 0) {
    std::string fetched = absl::StrCat(Count(stats.fetched_rows, "row"), " fetched again");
    if (stats.fetched_elsewhere == stats.fetched_rows) {
      fetched = absl::StrCat(Count(stats.fetched_rows, "row"), " fetched from another worker");
    } else if (stats.fetched_elsewhere > 0) {
      absl::StrAppend(&fetched, ", ", Count(stats.fetched_elsewhere), " of them from another worker");
    }
    parts.push_back(fetched);
  }
  if (stats.broken_streams > 0) parts.push_back(Count(stats.broken_streams, "broken stream"));
  if (stats.duplicate_rows > 0) parts.push_back(absl::StrCat(Count(stats.duplicate_rows, "row"), " came twice"));
  return absl::StrJoin(parts, "; ");
}

}  // namespace

std::string ReadReportText(const ReadReport& report) {
  const ReaderStats& stats = report.stats;
  std::string out =
      absl::StrCat(Count(report.rows, "row"), " in ", Count(report.steps, "step"), ", ", HumanSeconds(report.seconds),
                   ": ", Count(static_cast<uint64_t>(report.rows_per_second)), " rows/s\n");
  absl::StrAppend(&out, "first batch after ", HumanSeconds(report.first_batch_seconds), "; longest wait after it ",
                  HumanSeconds(report.longest_wait_seconds), ", ", HumanSeconds(report.waited_seconds), " in all\n");
  const std::string mended = Recovered(stats);
  if (!mended.empty()) absl::StrAppend(&out, mended, "\n");
  if (stats.masked_rows + stats.substituted_rows > 0) {
    absl::StrAppend(&out, Count(stats.masked_rows, "row"), " masked, ", Count(stats.substituted_rows),
                    " substituted by the job's error policy (penstock quarantine ", report.job, " says why)\n");
  }
  if (!report.digest.empty()) absl::StrAppend(&out, "digest ", report.digest, "\n");
  return out;
}

std::string ReadReportJson(const ReadReport& report) {
  return Json()
      .Field("job", report.job)
      .Field("steps", report.steps)
      .Field("rows", report.rows)
      .Field("seconds", report.seconds)
      .Field("rows_per_second", report.rows_per_second)
      .Field("first_batch_seconds", report.first_batch_seconds)
      .Field("longest_wait_seconds", report.longest_wait_seconds)
      .Field("waited_seconds", report.waited_seconds)
      .Field("bytes_received", report.stats.bytes_received)
      .Field("shared_memory_bytes", report.stats.shared_memory_bytes)
      .Field("compressed_bytes", report.stats.compressed_bytes)
      .Field("fetched_rows", report.stats.fetched_rows)
      .Field("fetched_elsewhere", report.stats.fetched_elsewhere)
      .Field("duplicate_rows", report.stats.duplicate_rows)
      .Field("broken_streams", report.stats.broken_streams)
      .Field("masked_rows", report.stats.masked_rows)
      .Field("substituted_rows", report.stats.substituted_rows)
      .Field("digest", report.digest)
      .Object();
}

}  // namespace penstock::cli
