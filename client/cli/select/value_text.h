// The values of a feature, for people.
#ifndef PENSTOCK_CLIENT_CLI_SELECT_VALUE_TEXT_H_
#define PENSTOCK_CLIENT_CLI_SELECT_VALUE_TEXT_H_

#include <string>

#include "pipeline/records/example_parser.h"

namespace penstock::cli {

// Returns the first 8 values, or "none". A text is in quotes and has at most 60 bytes. Other bytes are
// "(107245 bytes)".
std::string ValueText(const records::FeatureValue& value);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SELECT_VALUE_TEXT_H_
