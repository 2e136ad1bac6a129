// The lines of `penstock doctor`.
#ifndef PENSTOCK_CLIENT_CLI_DOCTOR_CHECK_LINE_H_
#define PENSTOCK_CLIENT_CLI_DOCTOR_CHECK_LINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "penstock/v1/control.pb.h"

namespace penstock::cli {

struct CheckLine {
  enum class Result { kFine, kFault, kUnchecked };

  std::string process;  // "this host", "coordinator", "worker w1"
  std::string check;
  Result result = Result::kFine;
  std::string message;  // the state, and for a fault what to do
};

// The lines in the order of the output.
class CheckLines {
 public:
  // Sets the process that later lines are about.
  void Begin(std::string process) { process_ = std::move(process); }
  void Fine(std::string check, std::string message) { Add(std::move(check), CheckLine::Result::kFine, message); }
  void Fault(std::string check, std::string message) { Add(std::move(check), CheckLine::Result::kFault, message); }
  void Unchecked(std::string check, std::string message) {
    Add(std::move(check), CheckLine::Result::kUnchecked, message);
  }
  // Add a finding that a process has reported, under its own name or under `check`.
  void Add(const v1::Finding& finding) { Add(finding.check(), finding); }
  void Add(std::string check, const v1::Finding& finding) {
    finding.fault() ? Fault(std::move(check), finding.message()) : Fine(std::move(check), finding.message());
  }

  const std::vector<CheckLine>& all() const { return lines_; }
  size_t CountFaults() const;
  // Returns one line for each check. Removes characters that control a terminal.
  std::string Text() const;
  std::string AsJson() const;

 private:
  void Add(std::string check, CheckLine::Result result, const std::string& message);

  std::string process_;
  std::vector<CheckLine> lines_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_DOCTOR_CHECK_LINE_H_
