// One command of `penstock`. README.md lists the files of a new one.
#ifndef PENSTOCK_CLIENT_CLI_COMMAND_H_
#define PENSTOCK_CLIENT_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/flags.h"

namespace penstock::cli {

// Returns an error for invalid usage: main prints the message with the command's usage and exits with 2. After another
// error main exits with 1, or by the signal that stopped the command.
absl::Status UsageError(std::string message);
bool IsUsageError(const absl::Status& status);

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  // Returns the arguments, for example "GLOB [flags]".
  virtual std::string arguments() const = 0;
  // Returns one line.
  virtual std::string summary() const = 0;
  // Returns one or two paragraphs and an example, for `penstock NAME --help`.
  virtual std::string description() const = 0;
  virtual void AddFlags(config::Flags* flags) = 0;
  // Runs the command. Returns OK only if the command succeeded.
  virtual absl::Status Run(const std::vector<std::string>& arguments) = 0;
};

// Returns the only argument. If there is not exactly one, returns a usage error that names the argument `what`.
absl::StatusOr<std::string> OneArgument(const std::vector<std::string>& arguments, const std::string& what);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_COMMAND_H_
