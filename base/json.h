// Text inside JSON.
#ifndef PENSTOCK_BASE_JSON_H_
#define PENSTOCK_BASE_JSON_H_

#include <string>
#include <string_view>

namespace penstock {

// What stands between the quotes of a JSON string (RFC 8259, section 7). Bytes that are no UTF-8 (RFC 3629), as names
// of files may have, become U+FFFD each.
std::string JsonEscaped(std::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_H_
