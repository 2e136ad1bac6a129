// Formats a job's bad records for display.
#ifndef PENSTOCK_CLIENT_CLI_QUARANTINE_TEXT_H_
#define PENSTOCK_CLIENT_CLI_QUARANTINE_TEXT_H_

#include <string>

#include "google/protobuf/repeated_ptr_field.h"
#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// Returns "9 truncated image, 3 missing feature".
std::string ReasonsText(const google::protobuf::RepeatedPtrField<v1::ReasonCount>& reasons);

// Returns a line for each listed record, and the counts of all.
std::string QuarantineText(const v1::QuarantineReply& quarantine);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_QUARANTINE_TEXT_H_
