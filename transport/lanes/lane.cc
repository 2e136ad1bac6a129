#include "transport/lanes/lane.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"

namespace penstock::transport {
namespace {

constexpr uint32_t kMark = 0xFF4C414E;
constexpr size_t kPrefixBytes = 16;
constexpr size_t kNameDigits = 32;

void PutLittleEndian(uint64_t value, size_t bytes, std::string* to) {
  for (size_t i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

uint64_t GetLittleEndian(const uint8_t* from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

}  // namespace

bool IsStreamName(std::string_view name) {
  return name.size() == kNameDigits &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

SliceList WithPrefix(const LanePrefix& prefix, const SliceList& message) {
  std::string bytes;
  PutLittleEndian(kMark, 4, &bytes);
  PutLittleEndian(static_cast<uint32_t>(prefix.kind), 4, &bytes);
  PutLittleEndian(prefix.number, 8, &bytes);
  std::vector<Slice> slices;
  slices.reserve(message.slices().size() + 1);
  slices.push_back(Slice::Of(std::move(bytes)));
  slices.insert(slices.end(), message.slices().begin(), message.slices().end());
  return SliceList(std::move(slices));
}

std::optional<LanePrefix> TakePrefix(SliceList* message) {
  if (message->bytes() < kPrefixBytes) return std::nullopt;
  std::array<uint8_t, kPrefixBytes> bytes;
  size_t got = 0;
  std::vector<Slice> rest;
  for (const Slice& slice : message->slices()) {
    const size_t mine = std::min(kPrefixBytes - got, slice.size());
    std::copy_n(slice.data(), mine, bytes.begin() + static_cast<std::ptrdiff_t>(got));
    got += mine;
    if (mine < slice.size()) rest.emplace_back(slice.data() + mine, slice.size() - mine, slice.owner());
  }
  const uint64_t kind = GetLittleEndian(bytes.data() + 4, 4);
  if (GetLittleEndian(bytes.data(), 4) != kMark || kind < 1 || kind > 4) return std::nullopt;
  *message = SliceList(std::move(rest));
  return LanePrefix{static_cast<LanePrefix::Kind>(kind), GetLittleEndian(bytes.data() + 8, 8)};
}

std::string_view LanedCarrier(std::string_view carrier, size_t lanes) {
  static constexpr std::array<std::string_view, kMostLanes + 1> kGrpc = {
      "grpc", "grpc", "grpc x2", "grpc x3", "grpc x4", "grpc x5", "grpc x6", "grpc x7", "grpc x8"};
  return carrier == "grpc" ? kGrpc[std::min(lanes, kMostLanes)] : carrier;
}

}  // namespace penstock::transport
