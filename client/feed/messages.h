// Encodes and decodes the packets of docs/feed.md. Pure.
#ifndef PENSTOCK_CLIENT_FEED_MESSAGES_H_
#define PENSTOCK_CLIENT_FEED_MESSAGES_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/batch.h"

namespace penstock::feed {

constexpr uint32_t kVersion = 1;
constexpr uint32_t kMaxWanted = 64;  // maximum number of batches of a WANT

enum class Type : uint32_t {
  kHello = 1,
  kWelcome = 2,
  kOpen = 3,
  kRelease = 4,
  kError = 5,
  kOpened = 16,
  kWant = 17,
  kBatch = 18,
  kSeek = 19,
  kSought = 20,
  kFailed = 21,
  kAsk = 22,
  kAnswer = 23,
  kNotice = 24,
};

struct Packet {
  Type type = Type::kHello;
  uint32_t stream = 0;
  std::string_view body;
};

// Returns InvalidArgument if the packet is shorter than a header.
absl::StatusOr<Packet> ParsePacket(std::string_view bytes);

struct SlotName {
  uint32_t slot = 0;
  uint32_t generation = 0;
  bool operator==(const SlotName&) const = default;
};
absl::StatusOr<std::vector<SlotName>> ParseRelease(std::string_view body);

struct Want {
  // The trainer may have lost sent batches: the feeder sends them again, and retries a failed batch.
  static constexpr uint32_t kAgain = 1;
  // The trainer accepted no batch from `sequence` on, and wants none: the feeder releases the sent ones.
  static constexpr uint32_t kLast = 2;
  uint64_t sequence = 0;
  uint32_t count = 0;
  uint32_t flags = 0;
};
absl::StatusOr<Want> ParseWant(std::string_view body);

// Parses a JSON object into a message of feed.proto. Returns InvalidArgument that names a member that is unknown or has
// the wrong type.
absl::Status ParseJson(std::string_view body, google::protobuf::Message* message);

// Returns `body` after a header.
std::string MakePacket(Type type, uint32_t stream, std::string_view body);

struct BatchHeader {
  uint64_t sequence = 0;
  SlotName name;
  uint64_t step = 0;
  bool last_of_epoch = false;
  uint64_t held_bytes = 0;
};
// Encodes a BATCH. `offset_of` returns the offset of the batch's memory in the arena. `state` is the state after this
// batch.
std::string MakeBatch(uint32_t stream, const BatchHeader& header, const Batch& batch,
                      uint64_t (*offset_of)(const void* context, const void* memory), const void* context,
                      std::string_view state);
// Sets header.name in a packet that MakeBatch returned.
void SetSlotName(const SlotName& name, std::string* packet);

// Returns [{"name": ..., "type": ..., "ragged": ..., "shape": [...]}, ...].
std::string ColumnsJson(const std::vector<ColumnInfo>& columns);

// Returns {"message": text}, for a NOTICE or the answer to `waiting`. Truncates texts to 16 KiB.
std::string MessageJson(std::string_view text);

// Returns {"code": ..., "message": ..., "sequence": ...}, the last only if there is one. Truncates the message to 16
// KiB.
std::string FailureJson(const absl::Status& status, std::optional<uint64_t> sequence = std::nullopt);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_MESSAGES_H_
