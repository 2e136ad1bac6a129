// The text of a job file with the place from which its blend continues another one.
#ifndef PENSTOCK_CLIENT_CLI_BLEND_START_TEXT_H_
#define PENSTOCK_CLIENT_CLI_BLEND_START_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "penstock/v1/job.pb.h"

namespace penstock::cli {

// Returns the text with `start` in its message `blend`, in the place of an earlier start. Comments and all other fields
// stay. Adds epoch_rows if `adds_epoch_rows`. Returns nullopt if the text has no message `blend` with its braces.
std::optional<std::string> WithBlendStart(std::string_view text, const v1::BlendStart& start, bool adds_epoch_rows);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_BLEND_START_TEXT_H_
