// Profiles of ~/.aws/credentials and ~/.aws/config.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_PROFILE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_PROFILE_H_

#include <map>
#include <optional>
#include <string>

#include "pipeline/storage/object/s3/aws_signature.h"

namespace penstock::storage {

// Settings by name ("role_arn", ...), names in lower case.
using AwsProfile = std::map<std::string, std::string>;

// Returns the settings of the section "[wanted]" in `text`, or none if the section is missing.
AwsProfile SettingsOf(const std::string& text, const std::string& wanted);
// Returns the name of the profile's section in the credentials file or in the config file.
std::string SectionOfProfile(const std::string& profile, bool config_file);
// Returns a setting, or "" if it is missing.
std::string SettingOf(const AwsProfile& profile, const char* name);
// Returns the keys in the profile, or nullopt if it has none.
std::optional<AwsKeys> KeysIn(const AwsProfile& profile);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_PROFILE_H_
