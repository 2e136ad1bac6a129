// What ~/.aws/credentials and ~/.aws/config say of a profile.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_PROFILE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_PROFILE_H_

#include <map>
#include <optional>
#include <string>

#include "pipeline/storage/object/aws_signature.h"

namespace penstock {

// "role_arn", ...; names in lower case.
using AwsProfile = std::map<std::string, std::string>;

// What a file's text says under "[wanted]"; empty where that is not there.
AwsProfile SettingsOf(const std::string& text, const std::string& wanted);
// How a profile is called in the file of credentials, and in that of configuration.
std::string SectionOfProfile(const std::string& profile, bool config_file);
// "" where it says nothing of it.
std::string SettingOf(const AwsProfile& profile, const char* name);
// None where they do not stand there.
std::optional<AwsKeys> KeysIn(const AwsProfile& profile);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_PROFILE_H_
