// Helpers that write the input of `penstock pack`.
#ifndef PENSTOCK_TESTS_PIPELINE_PACK_PACK_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_PACK_PACK_TESTING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::pack {

template <typename T>
std::string Raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Returns a frame.
inline std::string FrameText(uint32_t type, std::string_view body) {
  return Raw(static_cast<uint32_t>(body.size())) + Raw(type) + std::string(body);
}

inline std::string KeyText(std::string_view key, uint8_t kind) {
  return Raw(static_cast<uint16_t>(key.size())) + std::string(key) + Raw(kind);
}

// Return one feature of a frame of type 2. `single`: one value rather than a list.
inline std::string BytesText(std::string_view key, const std::vector<std::string>& values, bool single = false) {
  std::string out = KeyText(key, 1) + Raw(uint8_t{single}) + Raw(static_cast<uint32_t>(values.size()));
  for (const std::string& value : values) out += Raw(static_cast<uint32_t>(value.size())) + value;
  return out;
}

template <typename T>
std::string NumbersText(std::string_view key, const std::vector<T>& values, bool single = false) {
  std::string out =
      KeyText(key, std::is_same_v<T, float> ? 2 : 3) + Raw(uint8_t{single}) + Raw(static_cast<uint32_t>(values.size()));
  for (const T value : values) out += Raw(value);
  return out;
}

inline std::string ArrayText(std::string_view key, uint8_t type, const std::vector<uint64_t>& shape,
                             std::string_view elements) {
  std::string out = KeyText(key, 4) + Raw(type) + Raw(static_cast<uint8_t>(shape.size()));
  for (const uint64_t extent : shape) out += Raw(extent);
  return out + std::string(elements);
}

}  // namespace penstock::pack

#endif  // PENSTOCK_TESTS_PIPELINE_PACK_PACK_TESTING_H_
