// Parses command lines: flags with help, validation, and suggestions of similar names. Shared by penstock and
// penstockd.
//
//   --name VALUE, --name=VALUE, --switch, --no-switch; "--" ends the flags.
#ifndef PENSTOCK_CONFIG_FLAGS_H_
#define PENSTOCK_CONFIG_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::config {

// A flag as a user sees it.
struct FlagText {
  std::string name;        // without the dashes
  std::string value_name;  // "HOST:PORT"; "": a switch
  std::string help;

  bool is_switch() const { return value_name.empty(); }
  bool operator==(const FlagText&) const = default;
};

class Flags {
 public:
  // Each Add* registers a flag. The target's value before Parse is the default. `value_name` names the value in the
  // help ("HOST:PORT"). It also defines how shells complete the value (config/manual/value_hint.h). The target must
  // outlive the calls of Parse.
  void AddString(std::string name, std::string* target, std::string value_name, std::string help);
  // Adds each value to the target: the flag may be repeated.
  void AddStrings(std::string name, std::vector<std::string>* target, std::string value_name, std::string help);
  void AddUint(std::string name, uint64_t* target, std::string value_name, std::string help);
  // Registers a flag whose value ParseBytes reads.
  void AddBytes(std::string name, uint64_t* target, std::string value_name, std::string help);
  void AddSwitch(std::string name, bool* target, std::string help);

  // Parses `args` (without program and command names) and returns the positional arguments in order. Returns
  // InvalidArgument for an unknown flag, with a similar name or all names, and for a missing or malformed value.
  absl::StatusOr<std::vector<std::string>> Parse(const std::vector<std::string>& args);

  // Returns true if the flag was on the command line.
  bool Given(std::string_view name) const;

  // Returns the flags in the order in which they were added.
  std::vector<FlagText> Texts() const;

  // Returns the flags' part of a help text, aligned and wrapped at 100 columns.
  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string value_name;  // empty: a switch
    std::string help;
    std::function<absl::Status(const std::string&)> set;
    bool given = false;
  };
  void Add(std::string name, std::string value_name, std::string help,
           std::function<absl::Status(const std::string&)> set);
  Flag* Find(std::string_view name);

  std::vector<Flag> flags_;
};

// Parses a number of bytes: "256MiB", "1.5GB", "1048576". Units are B, KB to TB and KiB to TiB; their case does not
// matter.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_FLAGS_H_
