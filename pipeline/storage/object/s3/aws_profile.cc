#include "pipeline/storage/object/s3/aws_profile.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace penstock::storage {

AwsProfile SettingsOf(const std::string& text, const std::string& wanted) {
  AwsProfile settings;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      inside = line.back() == ']' && absl::StripAsciiWhitespace(line.substr(1, line.size() - 2)) == wanted;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == absl::string_view::npos) continue;
    settings[absl::AsciiStrToLower(absl::StripAsciiWhitespace(line.substr(0, equals)))] =
        std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return settings;
}

std::string SettingOf(const AwsProfile& profile, const char* name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

std::optional<AwsKeys> KeysIn(const AwsProfile& profile) {
  AwsKeys keys{.id = SettingOf(profile, "aws_access_key_id"),
               .secret = SettingOf(profile, "aws_secret_access_key"),
               .token = SettingOf(profile, "aws_session_token")};
  if (keys.id.empty() || keys.secret.empty()) return std::nullopt;
  return keys;
}

std::string SectionOfProfile(const std::string& profile, bool config_file) {
  return config_file && profile != "default" ? absl::StrCat("profile ", profile) : profile;
}

}  // namespace penstock::storage
