#include "pipeline/plan/state.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "base/status_mark.h"

namespace penstock::plan {
namespace {

constexpr char kMagic[] = "penstock-state";
constexpr char kResumeError[] = "penstock.resume_error";

absl::Status ResumeError(std::string_view message) {
  return Marked(kResumeError, absl::FailedPreconditionError({message.data(), message.size()}));
}

std::string Hex(uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

// Accepts only digits: no sign, no blank, no leading zero.
bool ParseDecimal(absl::string_view text, uint64_t* value) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return false;
  if (text.size() > 1 && text[0] == '0') return false;
  return absl::SimpleAtoi(text, value);
}

bool ParseHex16(absl::string_view text, uint64_t* value) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != text.npos) return false;
  return absl::SimpleHexAtoi(text, value);
}

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a session state: ", what,
                   "; a state is one line, \"penstock-state version=1 epoch=E position=P order=X pipeline=Y\"; give "
                   "the file that was saved, or begin without a state"));
}

}  // namespace

uint64_t OrderFingerprint(uint64_t snapshot_fingerprint, const PlanOptions& options, uint32_t plan_version) {
  Fingerprint fingerprint;
  fingerprint.Add(plan_version)
      .Add(snapshot_fingerprint)
      .Add(options.seed)
      .Add(static_cast<uint64_t>(options.shuffle))
      .Add(options.repeats);
  if (options.shuffle == Shuffle::kChunked) {  // the other shuffles ignore both
    fingerprint.Add(options.chunk_records).Add(options.window_chunks);
  }
  return fingerprint.value();
}

std::string SerializeState(const SessionState& state) {
  return absl::StrCat(kMagic, " version=", state.version, " epoch=", state.epoch, " position=", state.position,
                      " order=", Hex(state.order_fingerprint), " pipeline=", Hex(state.pipeline_fingerprint));
}

absl::StatusOr<SessionState> ParseState(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() > 256) return Bad(absl::StrCat("it has ", text.size(), " bytes"));
  const std::vector<absl::string_view> words = absl::StrSplit(absl::string_view(text.data(), text.size()), ' ');
  if (words[0] != kMagic) return Bad(absl::StrCat("it does not begin with \"", kMagic, "\""));

  SessionState state;
  uint64_t version = 0;
  struct Field {
    absl::string_view name;
    bool (*parse)(absl::string_view, uint64_t*);
    uint64_t* value;
  };
  const std::array<Field, 5> fields = {{{"version", ParseDecimal, &version},
                                        {"epoch", ParseDecimal, &state.epoch},
                                        {"position", ParseDecimal, &state.position},
                                        {"order", ParseHex16, &state.order_fingerprint},
                                        {"pipeline", ParseHex16, &state.pipeline_fingerprint}}};
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (i + 1 >= words.size()) return Bad(absl::StrCat("\"", field.name, "=\" is missing"));
    const std::pair<absl::string_view, absl::string_view> word = absl::StrSplit(words[i + 1], absl::MaxSplits('=', 1));
    if (word.first != field.name) {
      return Bad(
          absl::StrCat("\"", field.name, "=\" should stand where \"", absl::CHexEscape(words[i + 1]), "\" does"));
    }
    if (!field.parse(word.second, field.value)) {
      return Bad(absl::StrCat("the value of ", field.name, ", \"", absl::CHexEscape(word.second), "\", is no ",
                              field.parse == ParseHex16 ? "16 hexadecimal digits" : "unsigned 64-bit number"));
    }
    if (i == 0 && version != kStateVersion) {
      return absl::FailedPreconditionError(absl::StrCat("the session state has version ", version,
                                                        "; this release reads version ", kStateVersion,
                                                        "; use the release that wrote it, or start afresh"));
    }
  }
  if (words.size() > fields.size() + 1) {
    return Bad(absl::StrCat("\"", absl::CHexEscape(words[fields.size() + 1]), "\" follows where it should end"));
  }
  state.version = static_cast<uint32_t>(version);
  return state;
}

absl::Status CheckResume(const SessionState& saved, const SessionState& current, bool accept_new_pipeline) {
  if (saved.version != current.version) {
    return ResumeError(absl::StrCat("the saved state has version ", saved.version, ", this session has ",
                                    current.version, "; use the release that wrote it, or start without the state"));
  }
  if (saved.order_fingerprint != current.order_fingerprint) {
    return ResumeError(
        absl::StrCat("the saved state belongs to another order of records: its order fingerprint is ",
                     Hex(saved.order_fingerprint), ", the job's is ", Hex(current.order_fingerprint),
                     ". The job's files, selection, seed, shuffle, repeats or chunk sizes (with `bucket` or "
                     "blend.batches: batch.size) have changed, so "
                     "epoch ",
                     saved.epoch, ", position ", saved.position,
                     " is another record now. Submit the job as it was, or start without the state. To continue a run "
                     "with another blend, see `penstock continue --help`"));
  }
  if (saved.pipeline_fingerprint != current.pipeline_fingerprint && !accept_new_pipeline) {
    return ResumeError(
        absl::StrCat("the saved state belongs to another pipeline: its pipeline fingerprint is ",
                     Hex(saved.pipeline_fingerprint), ", the job's is ", Hex(current.pipeline_fingerprint),
                     ". The job's features or ops have changed; the order of records is the same. "
                     "Submit "
                     "the job as it was, or go on with the new pipeline (accept_new_pipeline, on the command "
                     "line --accept-new-pipeline), or start without the state"));
  }
  return absl::OkStatus();
}

bool IsResumeError(const absl::Status& status) { return HasMark(status, kResumeError); }

}  // namespace penstock::plan
