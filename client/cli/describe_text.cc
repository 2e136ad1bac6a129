#include "client/cli/describe_text.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/job_report.h"
#include "client/cli/output.h"
#include "client/cli/quarantine_text.h"
#include "client/cli/status_notes.h"
#include "client/cli/status_tables.h"
#include "net/protocols_proto.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::cli {
namespace {

constexpr size_t kDescribeWidth = 118;
constexpr size_t kFactNameWidth = 16;
constexpr int kMostDatasets = 20;

std::string WordsOf(const std::string& name) { return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", " "}}); }

// Lines "  name   value".
class Facts {
 public:
  // Adds nothing if the value is "".
  void Add(const std::string& name, const std::string& value) {
    if (value.empty()) return;
    std::string label = absl::StrCat("  ", name);
    label.resize(std::max(label.size() + 1, kFactNameWidth), ' ');
    absl::StrAppend(&text_, label, Wrapped(value, kDescribeWidth - kFactNameWidth, kFactNameWidth), "\n");
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string Section(const std::string& title, const std::string& text) {
  return text.empty() ? "" : absl::StrCat("\n", title, "\n", text);
}

std::string Block(const std::string& text) {
  return absl::StrCat("  ", absl::StrReplaceAll(absl::StripTrailingAsciiWhitespace(text), {{"\n", "\n  "}}), "\n");
}

std::string ColumnsText(const google::protobuf::RepeatedPtrField<v1::Column>& columns) {
  return absl::StrJoin(columns, ", ", [](std::string* out, const v1::Column& column) {
    absl::StrAppend(out, column.name(), " ", WordsOf(v1::DataType_Name(column.dtype())));
    if (!column.shape().empty()) absl::StrAppend(out, " [", absl::StrJoin(column.shape(), ", "), "]");
    if (column.ragged()) absl::StrAppend(out, " (ragged)");
  });
}

// A table of the workers that own ranges of the job.
std::string OwnersText(const v1::View& view) {
  if (view.ranges().empty() || view.key_space() == 0) return "";
  std::vector<std::pair<uint64_t, uint64_t>> owned(static_cast<size_t>(view.workers_size()));  // ranges, keys
  for (const v1::View::Range& range : view.ranges()) {
    if (range.owner() >= owned.size()) continue;
    ++owned[range.owner()].first;
    owned[range.owner()].second += range.end() - range.begin();
  }
  Table table({"WORKER", "ADDRESS", "RANGES", "SHARE"}, {2, 3});
  for (size_t i = 0; i < owned.size(); ++i) {
    const v1::View::Worker& worker = view.workers(static_cast<int>(i));
    table.Add({worker.name().empty() ? worker.id() : worker.name(), worker.address(), Count(owned[i].first),
               absl::StrFormat("%.1f %%",
                               100 * static_cast<double>(owned[i].second) / static_cast<double>(view.key_space()))});
  }
  return table.Text();
}

std::string EventsText(const v1::DescribeReply& reply, absl::Time now, absl::TimeZone zone) {
  std::string out;
  for (const v1::HistoryEvent& event : reply.events()) {
    const absl::Time time = absl::FromUnixMillis(event.unix_ms());
    std::string line = absl::StrCat("  ", absl::FormatTime("%Y-%m-%d %H:%M:%S", time, zone));
    const std::string age = HumanSeconds(std::max(0.0, absl::ToDoubleSeconds(now - time)));
    absl::StrAppendFormat(&line, "  %11s ago  %-14s", age, WordsOf(v1::HistoryEvent::Kind_Name(event.kind())));
    absl::StrAppend(&line, "  ", event.message());
    if (!event.by().empty()) absl::StrAppend(&line, event.message().empty() ? "by " : ", by ", event.by());
    absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  if (out.empty()) out = "  none\n";
  if (reply.dropped_events() > 0) {
    absl::StrAppend(&out, "  (", Count(reply.dropped_events(), "older event"),
                    " of all jobs and workers, at most, made room for newer ones)\n");
  }
  return Section(absl::StrCat("Events, oldest first (", absl::FormatTime("%Z", now, zone), ")"), out);
}

std::string JobText(const v1::DescribeReply& reply) {
  const v1::StatusReply::JobStatus& job = reply.job();
  Facts facts;
  facts.Add("state", absl::StrCat(WordsOf(v1::JobState_Name(job.state())), ", ", JobNote(job)));
  facts.Add("error", job.error());
  facts.Add("owner", job.owner());
  facts.Add("paused by", job.paused_by());
  if (job.next().state() == v1::FAILED) facts.Add("replacement", absl::StrCat("failed: ", job.next().error()));
  const bool selects = job.whole_records() > 0;
  const std::string kept = plan::MakesRows(reply.spec()) ? absl::StrCat(Count(job.records(), "row"), " of ")
                           : selects                     ? absl::StrCat(Count(job.records()), " of ")
                                                         : "";
  facts.Add("data", absl::StrCat(kept, Count(selects ? job.whole_records() : job.records(), "record"), " in ",
                                 Count(job.shards(), "shard"), ", ", HumanBytes(job.bytes())));
  if (job.left_out() > 0) facts.Add("left out", LeftOutText(job.left_out()));
  facts.Add("batch", reply.spec().batch().change().empty()
                         ? absl::StrCat(Count(job.batch_size(), "row"), " over all ranks")
                         : absl::StrCat("rows over all ranks: ", BatchSizesText(reply.spec().batch())));
  facts.Add("columns", ColumnsText(reply.columns()));
  if (reply.pipeline_fingerprint() != 0 || reply.order_fingerprint() != 0) {
    facts.Add("fingerprints",
              absl::StrFormat("order %016x, pipeline %016x", reply.order_fingerprint(), reply.pipeline_fingerprint()));
  }
  if (reply.view().number() != 0) {
    facts.Add("view", absl::StrCat(reply.view().number(), " of the coordinator's start ", reply.view().term(), ", ",
                                   Count(static_cast<uint64_t>(reply.view().ranges_size()), "range"), ", ",
                                   v1::AssignmentPolicy_Name(reply.view().policy())));
  }
  std::string out = absl::StrCat("job ", job.name(), "\n", facts.text());
  v1::StatusReply one;
  *one.add_jobs() = job;
  auto* const sessions = one.mutable_jobs(0)->mutable_sessions();
  std::stable_sort(sessions->begin(), sessions->end(),
                   [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
  if (const std::string sets = DatasetsTable(one, kMostDatasets, true); !sets.empty()) {
    absl::StrAppend(&out, Section("Data sets", Block(sets)));
  }
  absl::StrAppend(&out, Section("Workers", Block(OwnersText(reply.view()))));
  const std::string readers = SessionsTable(one);
  if (!readers.empty()) absl::StrAppend(&out, Section("Readers", Block(readers)));
  if (reply.quarantine().bad_records() > 0) {
    absl::StrAppend(&out, Section("Bad records", Block(QuarantineText(reply.quarantine()))));
  }
  std::string spec;
  google::protobuf::TextFormat::PrintToString(reply.spec(), &spec);
  return absl::StrCat(out, Section("Job file", Block(spec)));
}

std::string WorkerText(const v1::DescribeReply& reply) {
  const v1::WorkerStatus& worker = reply.worker();
  const v1::RegisterWorkerRequest& info = reply.registration();
  const v1::WorkerLoad& load = worker.load();
  Facts facts;
  facts.Add("id", worker.id());
  facts.Add("state",
            absl::StrCat(WordsOf(v1::WorkerStatus::State_Name(worker.state())), ", last heartbeat ",
                         HumanSeconds(static_cast<double>(worker.milliseconds_since_heartbeat()) / 1000), " ago"));
  facts.Add("note", worker.note());
  facts.Add("address", absl::StrCat(worker.address(), worker.host().empty() ? "" : " on host ", worker.host()));
  facts.Add("TLS name", info.tls_name());
  facts.Add("release", absl::StrCat("penstock ", worker.version(), ", protocol ",
                                    net::ProtocolsOf(worker.protocols()).ToString()));
  facts.Add("data roots", absl::StrJoin(info.roots(), ", "));
  facts.Add("arithmetic", absl::StrCat("conformance digest ", info.conformance_digest()));
  facts.Add("shared memory", info.local().empty() ? "off" : info.local());
  facts.Add("threads", absl::StrCat(worker.threads()));
  facts.Add("memory", absl::StrCat(HumanBytes(load.memory_bytes()), " of ", HumanBytes(worker.memory_budget_bytes()),
                                   worker.memory_budget_source().empty() ? "" : " (", worker.memory_budget_source(),
                                   worker.memory_budget_source().empty() ? "" : ")"));
  facts.Add("rows", absl::StrFormat("%s since its start, %.0f rows/s now, able to make %.0f rows/s", Count(load.rows()),
                                    load.rows_per_second(), load.capacity()));
  facts.Add("bytes", absl::StrCat(HumanBytes(load.bytes_read()), " read, ", HumanBytes(load.bytes_sent()), " sent, ",
                                  HumanSeconds(load.cpu_seconds()), " of CPU"));
  facts.Add("readers", absl::StrCat(load.sessions()));
  std::string out = absl::StrCat("worker ", NameOf(worker), "\n", facts.text());
  v1::StatusReply one;
  *one.add_workers() = worker;
  absl::StrAppend(&out, Section("Caches and storage", CacheLines(one)), Section("Tuning", TuningLines(one)),
                  Section("Files that fail", FileErrorLines(one)), Section("Rejected callers", RejectedLines(one)));
  if (!reply.parts().empty()) {
    Table table({"JOB", "RECORDS", "BYTES"}, {1, 2});
    for (const v1::DescribeReply::Part& part : reply.parts()) {
      table.Add({part.job(), Count(part.records()), HumanBytes(part.bytes())});
    }
    absl::StrAppend(&out, Section("Its parts of jobs", Block(table.Text())));
  }
  return out;
}

}  // namespace

std::string DescribeText(const v1::DescribeReply& reply, absl::Time now, absl::TimeZone zone) {
  return absl::StrCat(reply.has_job() ? JobText(reply) : WorkerText(reply), EventsText(reply, now, zone));
}

}  // namespace penstock::cli
