// The files of this process for a support file.
#ifndef PENSTOCK_SERVER_COMMON_SUPPORT_FILES_H_
#define PENSTOCK_SERVER_COMMON_SUPPORT_FILES_H_

#include <string>
#include <string_view>

#include "google/protobuf/repeated_ptr_field.h"
#include "penstock/v1/support.pb.h"

namespace penstock::server {

using SupportFiles = google::protobuf::RepeatedPtrField<v1::SupportFile>;

// Limit of one file. A longer file loses its beginning.
constexpr size_t kMostSupportFileBytes = size_t{2} << 20;

// Adds a file, without its first lines if it is too long.
void AddSupportFile(std::string_view name, std::string content, SupportFiles* out);
// Adds the recent log lines, the configuration and the host's facts. Does not read disks.
void AddProcessFiles(const std::string& configuration, SupportFiles* out);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_SUPPORT_FILES_H_
