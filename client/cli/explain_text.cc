#include "client/cli/explain_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output.h"
#include "net/explain_sentence.h"

namespace penstock::cli {
namespace {

constexpr size_t kExplainWidth = 80;
constexpr double kBarWidth = 24;

std::string Percent(double part) { return absl::StrFormat("%.0f %%", 100 * part); }

std::string Indented(const std::string& text) { return absl::StrCat("  ", Wrapped(text, kExplainWidth - 2, 2), "\n"); }

std::string Stages(const v1::Explanation& explanation) {
  if (explanation.shares().empty()) return "";
  Table table({"  A ROW'S STAGES", "MS OF A THREAD", "SHARE", ""}, {1, 2});
  for (const v1::Explanation::Share& share : explanation.shares()) {
    const auto bar = static_cast<size_t>(std::lround(kBarWidth * share.share()));
    table.Add({absl::StrCat("  ", share.stage(), share.client() ? " (trainer's host)" : ""),
               absl::StrFormat("%.3f", share.milliseconds()), Percent(share.share()), std::string(bar, '#')});
  }
  return absl::StrCat("\n", table.Text());
}

std::string Workers(const v1::Explanation& explanation) {
  if (explanation.uses_size() < 2) return "";
  Table table({"  WORKER", "ROWS/S", "CPU", "STORAGE", "MEMORY", "UNASKED", "FULL", "WAITED FOR"},
              {1, 2, 3, 4, 5, 6, 7});
  for (const v1::Explanation::WorkerUse& use : explanation.uses()) {
    table.Add({absl::StrCat("  ", use.name().empty() ? use.worker() : use.name()),
               absl::StrFormat("%.0f", use.rows_per_second()), Percent(use.computing() + use.other_jobs()),
               Percent(use.reading()), Percent(use.memory()), Percent(use.unrequested()), Percent(use.blocked()),
               Percent(use.waited_on())});
  }
  return absl::StrCat("\n", table.Text());
}

std::string Gains(const v1::Explanation& explanation) {
  if (explanation.gains().empty()) return "";
  std::string out = "\n  What a change would give, about:\n";
  for (const v1::Explanation::Gain& gain : explanation.gains()) {
    const std::string times = gain.times() == 0 ? "" : absl::StrFormat("%.1f times", gain.times());
    absl::StrAppend(&out, "  ", absl::StrFormat("%10s", times), "  ", Wrapped(gain.change(), kExplainWidth - 14, 14),
                    "\n");
  }
  return out;
}

}  // namespace

std::string ExplainText(const v1::Explanation& explanation) {
  std::string out = Wrapped(net::ExplainSentence(explanation), kExplainWidth, 2);
  absl::StrAppend(&out, "\n\n");
  for (const std::string& sentence : explanation.sentences()) absl::StrAppend(&out, Indented(sentence));
  absl::StrAppend(&out, Stages(explanation), Workers(explanation), Gains(explanation));
  return out;
}

std::string TopText(const v1::ExplainReply& reply) {
  if (reply.jobs().empty()) return "no job has a reader now\n";
  Table table({"JOB", "ROWS/S", "WAITED", "WORKERS", "THE LIMIT"}, {1, 2, 3});
  for (const v1::Explanation& job : reply.jobs()) {
    const bool told = job.workers_needed() > job.workers();
    table.Add({job.job(), absl::StrFormat("%.0f", job.rows_per_second()), Percent(job.waited()),
               told ? absl::StrCat(job.workers(), " of ", job.workers_needed()) : absl::StrCat(job.workers()),
               job.headline()});
  }
  return table.Text();
}

}  // namespace penstock::cli
