#include "config/flags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/near_name.h"
#include "base/status_macros.h"

namespace penstock::config {

absl::StatusOr<uint64_t> ParseBytes(std::string_view text) {
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12},
      {"B", 1.0},
  };
  const absl::string_view all(text.data(), text.size());
  absl::string_view number = all;
  double factor = 1;
  for (const auto& [unit, bytes] : kUnits) {
    if (absl::EndsWithIgnoreCase(number, unit)) {
      number.remove_suffix(absl::string_view(unit).size());
      factor = bytes;
      break;
    }
  }
  double value = 0;
  if (number.empty() || !absl::SimpleAtod(number, &value) || !(value >= 0) || value * factor > 0x1p62) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", all, "' is not a number of bytes, such as 268435456 or 256MiB"));
  }
  return static_cast<uint64_t>(std::llround(value * factor));
}

void Flags::Add(std::string name, std::string value_name, std::string help,
                std::function<absl::Status(const std::string&)> set) {
  flags_.push_back({std::move(name), std::move(value_name), std::move(help), std::move(set), false});
}

void Flags::AddString(std::string name, std::string* target, std::string value_name, std::string help) {
  Add(std::move(name), std::move(value_name), std::move(help), [target](const std::string& value) {
    *target = value;
    return absl::OkStatus();
  });
}

void Flags::AddStrings(std::string name, std::vector<std::string>* target, std::string value_name, std::string help) {
  Add(std::move(name), std::move(value_name), std::move(help), [target](const std::string& value) {
    target->push_back(value);
    return absl::OkStatus();
  });
}

void Flags::AddUint(std::string name, uint64_t* target, std::string value_name, std::string help) {
  Add(std::move(name), std::move(value_name), std::move(help), [target](const std::string& value) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(value, &number)) {
      return absl::InvalidArgumentError(absl::StrCat("'", value, "' is not a whole number from 0 on"));
    }
    *target = number;
    return absl::OkStatus();
  });
}

void Flags::AddBytes(std::string name, uint64_t* target, std::string value_name, std::string help) {
  Add(std::move(name), std::move(value_name), std::move(help), [target](const std::string& value) {
    PS_ASSIGN_OR_RETURN(*target, ParseBytes(value));
    return absl::OkStatus();
  });
}

void Flags::AddSwitch(std::string name, bool* target, std::string help) {
  Add(std::move(name), "", std::move(help), [target](const std::string& value) {
    if (!value.empty() && value != "true" && value != "false") {
      return absl::InvalidArgumentError(absl::StrCat("'", value, "' is neither true nor false"));
    }
    *target = value != "false";
    return absl::OkStatus();
  });
}

Flags::Flag* Flags::Find(std::string_view name) {
  const auto found = std::find_if(flags_.begin(), flags_.end(), [&](const Flag& f) { return f.name == name; });
  return found == flags_.end() ? nullptr : &*found;
}

absl::StatusOr<std::vector<std::string>> Flags::Parse(const std::vector<std::string>& args) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--") {
      rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (!absl::StartsWith(arg, "--")) {
      rest.push_back(arg);
      continue;
    }
    const std::pair<std::string, std::string> halves = absl::StrSplit(arg.substr(2), absl::MaxSplits('=', 1));
    std::string name = halves.first;
    std::string value = halves.second;
    bool has_value = absl::StrContains(arg, "=");
    Flag* flag = Find(name);
    if (flag == nullptr && absl::StartsWith(name, "no-")) {
      flag = Find(name.substr(3));
      if (flag != nullptr && flag->value_name.empty() && !has_value) {
        value = "false";
        has_value = true;
      } else {
        flag = nullptr;
      }
    }
    if (flag == nullptr) {
      std::vector<std::string> names;
      for (const Flag& f : flags_) names.push_back("--" + f.name);
      const std::string near = DidYouMean("--" + name, names);
      return absl::InvalidArgumentError(
          absl::StrCat("there is no flag --", name,
                       near.empty() ? absl::StrCat("; there are: ", absl::StrJoin(names, ", ")) : near));
    }
    if (!flag->value_name.empty() && !has_value) {
      if (i + 1 == args.size()) {
        return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value: --", name, " ", flag->value_name));
      }
      value = args[++i];
    }
    if (absl::Status set = flag->set(value); !set.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, ": ", set.message()));
    }
    flag->given = true;
  }
  return rest;
}

bool Flags::Given(std::string_view name) const {
  return std::any_of(flags_.begin(), flags_.end(), [&](const Flag& f) { return f.name == name && f.given; });
}

std::vector<FlagText> Flags::Texts() const {
  std::vector<FlagText> texts;
  for (const Flag& flag : flags_) texts.push_back({flag.name, flag.value_name, flag.help});
  return texts;
}

std::string Flags::Help() const {
  constexpr size_t kColumn = 28, kWidth = 100;
  std::string out;
  for (const Flag& flag : flags_) {
    std::string line = absl::StrCat("  --", flag.name, flag.value_name.empty() ? "" : " ", flag.value_name);
    if (line.size() + 2 > kColumn) {
      absl::StrAppend(&out, line, "\n");
      line = "";
    }
    line.resize(kColumn, ' ');
    for (const auto word : absl::StrSplit(flag.help, ' ')) {
      if (line.size() + word.size() > kWidth) {
        absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
        line = std::string(kColumn, ' ');
      }
      absl::StrAppend(&line, word, " ");
    }
    absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return out;
}

}  // namespace penstock::config
