// Command lines: flags with help, checked, with near names suggested. Shared by penstock and penstockd.
//
//   --name VALUE, --name=VALUE, --switch, --no-switch for switches that are on by default; "--" ends the flags.
#ifndef PENSTOCK_CONFIG_FLAGS_H_
#define PENSTOCK_CONFIG_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

class Flags {
 public:
  // Each Add* names a flag, where its value goes (the target's value before Parse is the default), how the value is
  // called in the help ("HOST:PORT"), and what it means.
  void AddString(std::string name, std::string* target, std::string value_name, std::string help);
  void AddStrings(std::string name, std::vector<std::string>* target, std::string value_name, std::string help);
  void AddUint(std::string name, uint64_t* target, std::string value_name, std::string help);
  // Bytes: a number, or one with KiB, MiB, GiB, KB, MB, GB.
  void AddBytes(std::string name, uint64_t* target, std::string value_name, std::string help);
  void AddSwitch(std::string name, bool* target, std::string help);

  // Parses `args` (without program and command names) and returns what is no flag, in order. InvalidArgument names an
  // unknown flag (with the near name), a missing or malformed value.
  absl::StatusOr<std::vector<std::string>> Parse(const std::vector<std::string>& args);

  // Whether the flag was on the command line.
  bool Given(std::string_view name) const;

  // The flags' part of a help text, a line or two each, aligned.
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

// "256MiB", "1.5GB", "1048576" -> bytes.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_FLAGS_H_
