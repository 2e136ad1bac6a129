// Texts for values, whose order by bytes is the order of the values.
#ifndef PENSTOCK_BASE_ORDERED_KEY_H_
#define PENSTOCK_BASE_ORDERED_KEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

// Return the key of a value. The lesser one of two values of one type has the lesser key. Numbers have 9 bytes; a text
// has one byte more than itself. -0.0 and 0.0 have one key. `value` is not NaN. The same in every release.
std::string OrderedKey(int64_t value);
std::string OrderedKey(double value);
std::string OrderedKey(bool value);
std::string OrderedKey(std::string_view value);

// Returns the value of a key as text: of a number the shortest text that is this number again, and of a bool "true" or
// "false". Returns the bytes themselves if they are no key.
std::string OrderedKeyText(std::string_view key);

// Returns the number of a key, or nullopt if it is that of a bool or a text, or no key.
std::optional<double> OrderedKeyNumber(std::string_view key);

// Returns the shortest text that is this number again, such as "0.1", "3" or "1e+300".
std::string NumberText(double number);

}  // namespace penstock

#endif  // PENSTOCK_BASE_ORDERED_KEY_H_
