// Quotation for shells.
#ifndef PENSTOCK_CONFIG_MANUAL_SHELL_QUOTE_H_
#define PENSTOCK_CONFIG_MANUAL_SHELL_QUOTE_H_

#include <string>
#include <string_view>

namespace penstock::config {

// Returns a word that bash and zsh read as `text`.
inline std::string ShellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MANUAL_SHELL_QUOTE_H_
