#include "base/ordered_key.h"

#include <bit>
#include <charconv>

namespace penstock {
namespace {

// The first byte of a key. A part of indexes.
constexpr char kInt64 = 'i', kDouble = 'd', kBool = 'b', kText = 't';
constexpr uint64_t kTopBit = uint64_t{1} << 63;
constexpr size_t kNumberBytes = 1 + sizeof(uint64_t);

std::string BigEndian(char kind, uint64_t bits) {
  std::string key(1, kind);
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(bits >> shift);
  return key;
}

uint64_t FromBigEndian(std::string_view bytes) {
  uint64_t bits = 0;
  for (const char byte : bytes) bits = bits << 8 | static_cast<uint8_t>(byte);
  return bits;
}

}  // namespace

std::string OrderedKey(int64_t value) { return BigEndian(kInt64, static_cast<uint64_t>(value) ^ kTopBit); }

std::string OrderedKey(double value) {
  const auto bits = std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
  // The bits of negative numbers ascend with their magnitude.
  return BigEndian(kDouble, (bits & kTopBit) != 0 ? ~bits : bits ^ kTopBit);
}

std::string OrderedKey(bool value) { return {kBool, value ? '\1' : '\0'}; }

std::string OrderedKey(std::string_view value) {
  std::string key(1, kText);
  key += value;
  return key;
}

std::optional<double> OrderedKeyNumber(std::string_view key) {
  if (key.size() != kNumberBytes) return std::nullopt;
  const uint64_t bits = FromBigEndian(key.substr(1));
  if (key[0] == kInt64) return static_cast<double>(static_cast<int64_t>(bits ^ kTopBit));
  if (key[0] == kDouble) return std::bit_cast<double>((bits & kTopBit) != 0 ? bits ^ kTopBit : ~bits);
  return std::nullopt;
}

std::string OrderedKeyText(std::string_view key) {
  if (key.empty()) return {};
  const std::string_view value = key.substr(1);
  if (key[0] == kText) return std::string(value);
  if (key[0] == kBool && value.size() == 1) return value[0] == '\0' ? "false" : "true";
  if (key.size() != kNumberBytes) return std::string(key);
  const uint64_t bits = FromBigEndian(value);
  if (key[0] == kInt64) return std::to_string(static_cast<int64_t>(bits ^ kTopBit));
  if (key[0] == kDouble) return NumberText(std::bit_cast<double>((bits & kTopBit) != 0 ? bits ^ kTopBit : ~bits));
  return std::string(key);
}

std::string NumberText(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

}  // namespace penstock
