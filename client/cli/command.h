// One command of `penstock`. A new command is a file in commands/ and a line in main.cc.
#ifndef PENSTOCK_CLIENT_CLI_COMMAND_H_
#define PENSTOCK_CLIENT_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/flags.h"

namespace penstock::cli {

// What the user typed is wrong: main prints the message with the command's usage and exits with 2. Every other error
// exits with 1.
absl::Status UsageError(std::string message);
bool IsUsageError(const absl::Status& status);

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  // "GLOB [flags]"
  virtual std::string arguments() const = 0;
  // One line.
  virtual std::string summary() const = 0;
  // A paragraph or two and an example, for `penstock NAME --help`.
  virtual std::string description() const = 0;
  virtual void AddFlags(Flags* flags) = 0;
  // OK only when it did what was asked.
  virtual absl::Status Run(const std::vector<std::string>& arguments) = 0;
};

// Exactly one argument, called `what` in the message.
absl::StatusOr<std::string> OneArgument(const std::vector<std::string>& arguments, const std::string& what);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_COMMAND_H_
