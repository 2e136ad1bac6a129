// Errors that show the text of an expression with a caret under the place.
#ifndef PENSTOCK_PIPELINE_SELECT_ERROR_TEXT_H_
#define PENSTOCK_PIPELINE_SELECT_ERROR_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace penstock::select {

// Returns InvalidArgument with three lines: the message, the line of `text` that has the byte `at`, and a caret under
// that byte. `at` may be text.size(). Shows at most 100 characters of the line, and "?" for each byte that is no
// printable character.
absl::Status ErrorAt(std::string_view text, size_t at, std::string_view message);

// Returns a part of an expression in backquotes for a message: on one line, with at most 60 bytes.
std::string Quoted(std::string_view part);

// Does the same for a name, in single quotes.
std::string QuotedName(std::string_view name);

}  // namespace penstock::select

#endif  // PENSTOCK_PIPELINE_SELECT_ERROR_TEXT_H_
