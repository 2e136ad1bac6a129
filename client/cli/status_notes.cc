#include "client/cli/status_notes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output.h"
#include "client/cli/quarantine_text.h"
#include "net/protocols_proto.h"

namespace penstock::cli {
namespace {

// Returns for example "record cache 1.2 GiB of 2.0 GiB, 85 % hits, 10 GiB served, 12.0 s of reading saved". Returns ""
// for a cache in memory without lookups.
std::string CacheLine(const v1::CacheLoad& cache) {
  const char* name = nullptr;
  const char* work = nullptr;
  switch (cache.of()) {
    case v1::CacheLoad::RECORDS:
      name = "record cache", work = "reading";
      break;
    case v1::CacheLoad::DECODED_IMAGES:
      name = "decoded cache", work = "decoding";
      break;
    case v1::CacheLoad::FINISHED_ROWS:
      name = "row cache", work = "making rows";
      break;
    case v1::CacheLoad::RECORDS_ON_DISK:
      name = "disk cache", work = "reading";
      break;
    default:
      return "";  // a cache of a newer worker
  }
  const uint64_t asked = cache.hits() + cache.misses();
  if (asked == 0 && cache.of() != v1::CacheLoad::RECORDS_ON_DISK) return "";
  std::string line = absl::StrCat(name, " ", HumanBytes(cache.bytes()), " of ", HumanBytes(cache.limit()));
  if (asked > 0) {
    absl::StrAppend(&line, absl::StrFormat(", %.0f %% hits",
                                           100.0 * static_cast<double>(cache.hits()) / static_cast<double>(asked)));
  }
  if (cache.hits() > 0) absl::StrAppend(&line, ", ", HumanBytes(cache.served_bytes()), " served");
  if (cache.saved_seconds() >= 1) {
    absl::StrAppend(&line, ", ", HumanSeconds(cache.saved_seconds()), " of ", work, " saved");
  }
  return line;
}

}  // namespace

const std::string& NameOf(const v1::WorkerStatus& worker) {
  return worker.name().empty() ? worker.id() : worker.name();
}

std::string JobNote(const v1::StatusReply::JobStatus& job) {
  switch (job.state()) {
    case v1::PREPARING:
      if (!job.waiting().empty()) return absl::StrCat("waits: ", job.waiting());
      if (job.shards() == 0) return "workers list its files";
      return absl::StrFormat("%d of %d shards indexed", job.shards_indexed(), job.shards());
    case v1::FAILED:
      return "see below";
    default: {
      std::string next;
      if (job.next().state() == v1::FAILED) {
        next = "; its replacement failed, see below";
      } else if (job.has_next()) {
        next = absl::StrCat(
            "; its replacement: ",
            job.next().waiting().empty()
                ? absl::StrFormat("%d of %d shards indexed", job.next().shards_indexed(), job.next().shards_total())
                : absl::StrCat("waits: ", job.next().waiting()));
      }
      return absl::StrCat(job.sessions_size(), job.sessions_size() == 1 ? " reader" : " readers",
                          job.bad_records() > 0 ? absl::StrCat(", ", Count(job.bad_records(), "bad record"), " (",
                                                               ReasonsText(job.bad_reasons()), ")")
                                                : "",
                          job.waiting().empty() ? "" : absl::StrCat("; waits: ", job.waiting()), next);
    }
  }
}

std::string FailureLines(const v1::StatusReply& status) {
  constexpr size_t kWidth = 108, kIndent = 4;
  std::string out;
  bool ended = false;
  const auto add = [&out](const std::string& text) {
    absl::StrAppend(&out, out.empty() ? "\n" : "", "  ", Wrapped(text, kWidth - 2, kIndent), "\n");
  };
  for (const auto& job : status.jobs()) {
    if (job.next().state() == v1::FAILED) {
      add(absl::StrCat(job.name(), " continues unchanged; its replacement failed: ", job.next().error()));
    }
    if (job.state() != v1::FAILED) continue;
    add(absl::StrCat(job.name(), ": ", job.error()));
    ended = true;
  }
  if (ended) absl::StrAppend(&out, "  (`penstock delete --ended` removes failed and cancelled jobs)\n");
  return out;
}

std::string RejectedText(const v1::RejectedCaller& caller) {
  std::string out = absl::StrCat("rejected ", caller.host().empty() ? "a caller" : caller.host());
  if (!caller.name().empty()) absl::StrAppend(&out, " (", caller.name(), ")");
  absl::StrAppend(&out, " ", caller.count() == 1 ? "once" : absl::StrCat(Count(caller.count()), " times"), ", last ",
                  HumanSeconds(static_cast<double>(caller.seconds_since_last())), " ago: ", caller.message());
  return out;
}

std::string RejectedLines(const v1::StatusReply& status) {
  std::string out;
  const auto add = [&out](const std::string& by, const v1::RejectedCaller& caller) {
    absl::StrAppend(&out, "  ", by, ": ", RejectedText(caller), "\n");
  };
  for (const v1::RejectedCaller& caller : status.rejected()) add("coordinator", caller);
  for (const v1::WorkerStatus& worker : status.workers()) {
    for (const v1::RejectedCaller& caller : worker.rejected()) add(absl::StrCat("worker ", NameOf(worker)), caller);
  }
  return out;
}

std::string FileErrorLines(const v1::StatusReply& status) {
  std::string out;
  for (const v1::WorkerStatus& worker : status.workers()) {
    for (const std::string& line : worker.load().troubles()) {
      absl::StrAppend(&out, "  worker ", NameOf(worker), ": ", line, "\n");
    }
  }
  return out;
}

std::string CacheLines(const v1::StatusReply& status) {
  std::string out;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (worker.state() == v1::WorkerStatus::DEAD || worker.state() == v1::WorkerStatus::LEFT) continue;
    const v1::WorkerLoad& load = worker.load();
    for (const v1::CacheLoad& cache : load.caches()) {
      const std::string line = CacheLine(cache);
      if (!line.empty()) absl::StrAppend(&out, "  worker ", NameOf(worker), ": ", line, "\n");
    }
    if (load.remote_requests() > 0 && load.rows() > 0 && load.remote_used_bytes() > 0) {
      absl::StrAppend(
          &out, "  worker ", NameOf(worker), ": storage ",
          absl::StrFormat("%.0f requests for 1000 rows, %.2f bytes read per byte used",
                          1000.0 * static_cast<double>(load.remote_requests()) / static_cast<double>(load.rows()),
                          static_cast<double>(load.remote_bytes()) / static_cast<double>(load.remote_used_bytes())));
      if (load.remote_hedges() > 0) {
        absl::StrAppend(&out, ", ", Count(load.remote_hedges(), "late request"),
                        load.remote_hedges() == 1 ? " was" : " were", " sent twice");
      }
      out += "\n";
    }
  }
  return out;
}

std::string ReleaseLines(const v1::StatusReply& status) {
  std::string out;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (worker.state() == v1::WorkerStatus::DEAD || worker.state() == v1::WorkerStatus::LEFT) continue;
    if (worker.version() == status.version()) continue;
    absl::StrAppend(&out, "  worker ", NameOf(worker), ": penstock ", worker.version(), ", protocol ",
                    net::ProtocolsOf(worker.protocols()).ToString(), "; the coordinator is penstock ", status.version(),
                    "\n");
  }
  return out;
}

std::string BudgetLines(const v1::StatusReply& status) {
  std::string out;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (worker.state() == v1::WorkerStatus::DEAD || worker.state() == v1::WorkerStatus::LEFT) continue;
    if (worker.memory_budget_source().empty()) continue;  // an older release
    absl::StrAppend(&out, "  worker ", NameOf(worker), ": memory budget ", HumanBytes(worker.memory_budget_bytes()),
                    " (", worker.memory_budget_source(), ")\n");
  }
  return out;
}

std::string TuningLines(const v1::StatusReply& status) {
  std::string out;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (worker.state() == v1::WorkerStatus::DEAD || worker.state() == v1::WorkerStatus::LEFT) continue;
    const v1::Tuning& tuning = worker.load().tuning();
    if (tuning.changes() == 0) continue;
    absl::StrAppend(&out, "  worker ", NameOf(worker), ": ", Count(tuning.threads(), "thread"),
                    tuning.threads() < tuning.most_threads() ? absl::StrCat(" of ", tuning.most_threads()) : "",
                    tuning.read_threads() > 0 ? absl::StrCat(", ", tuning.read_threads(), " more read") : "",
                    tuning.requests() > 0 ? absl::StrCat(", ", tuning.requests(), " requests at once") : "", " (",
                    tuning.last_change(), ")\n");
  }
  return out;
}

std::string WaitLines(const v1::StatusReply& status) {
  std::string out;
  for (const auto& job : status.jobs()) {
    for (const auto& session : job.sessions()) {
      for (const std::string* text : {&session.note(), &session.waiting_for()}) {
        if (text->empty()) continue;
        absl::StrAppend(&out, "  ", job.name(), "/", session.id(), ", rank ", session.rank(), ": ", *text, "\n");
      }
    }
  }
  return out;
}

}  // namespace penstock::cli
