// The situations of docs/runbook.md and of its further pages, as tests read them.
//
// A section has the lines Symptom, Check, Action and Confirm. In these lines, code is one of three things: a command
// that begins with "penstock " and has no ": ", the name of an alert, or words that a source prints. The source is the
// command before the words, or the trainer or a log after "trainer prints" or "log prints". After "no longer" the
// source must not print the words. Words in which "..." or a placeholder in capitals appears match any text there.
#ifndef PENSTOCK_TESTS_FAULTS_RUNBOOK_PAGE_H_
#define PENSTOCK_TESTS_FAULTS_RUNBOOK_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock::faults {

struct Claim {
  enum class Source { kCommand, kTrainer, kLog };
  Source source = Source::kCommand;
  std::string command = {};  // of kCommand
  std::string words = {};    // "": the command only has to succeed
  bool absent = false;
};

struct Situation {
  std::string page = {}, heading = {};
  std::string test = {};  // the heading's words, each with a capital: "NoWorkerIsLive"
  std::vector<std::string> alerts = {};
  std::vector<Claim> symptom = {}, check = {}, confirm = {};
  std::vector<std::string> actions = {};  // the commands of Action that begin with "penstock "
};

// Returns all situations. The current folder must be the root of the repository. An error names a page that cannot be
// read, or a line that does not have this form.
absl::StatusOr<std::vector<Situation>> ReadRunbook();

// Whether a line of `output` contains `words`, where runs of blanks are equal to one blank.
bool Prints(absl::string_view output, absl::string_view words);

}  // namespace penstock::faults

#endif  // PENSTOCK_TESTS_FAULTS_RUNBOOK_PAGE_H_
