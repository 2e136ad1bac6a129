#include "client/feed/messages.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "pipeline/batch/dtype.h"

namespace penstock::feed {
namespace {

constexpr size_t kHeader = 8;
constexpr size_t kSlotNameAt = 16;  // offset in a BATCH
constexpr size_t kMaxReleases = 512;
// Maximum length of a text for display. Longer texts are truncated, so that every packet fits.
constexpr size_t kMaxText = 16384;

template <typename T>
void Put(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T>
T Get(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return value;
}

// Returns the size of one element of a RAGGED column of numbers, at least 1.
uint64_t ElementBytes(const ColumnInfo& column) {
  uint64_t bytes = batch::DTypeSize(static_cast<batch::DType>(column.type));
  for (const int64_t extent : column.shape) bytes *= static_cast<uint64_t>(extent);
  return std::max<uint64_t>(bytes, 1);
}

}  // namespace

absl::StatusOr<Packet> ParsePacket(std::string_view bytes) {
  if (bytes.size() < kHeader) {
    return absl::InvalidArgumentError(absl::StrCat("a packet of ", bytes.size(), " bytes, shorter than its header"));
  }
  return Packet{static_cast<Type>(Get<uint32_t>(bytes, 0)), Get<uint32_t>(bytes, 4), bytes.substr(kHeader)};
}

absl::StatusOr<std::vector<SlotName>> ParseRelease(std::string_view body) {
  if (body.empty() || body.size() % 8 != 0 || body.size() / 8 > kMaxReleases) {
    return absl::InvalidArgumentError(
        absl::StrCat("a RELEASE with ", body.size(), " bytes: 8 for each of 1 to ", kMaxReleases, " slots"));
  }
  std::vector<SlotName> names;
  for (size_t at = 0; at < body.size(); at += 8) {
    names.push_back({Get<uint32_t>(body, at), Get<uint32_t>(body, at + 4)});
  }
  return names;
}

absl::StatusOr<Want> ParseWant(std::string_view body) {
  if (body.size() != 16) return absl::InvalidArgumentError(absl::StrCat("a WANT with ", body.size(), " bytes, not 16"));
  const Want want{Get<uint64_t>(body, 0), Get<uint32_t>(body, 8), Get<uint32_t>(body, 12)};
  if (want.count > kMaxWanted) {
    return absl::InvalidArgumentError(absl::StrCat("a WANT of ", want.count, " batches; at most ", kMaxWanted));
  }
  if ((want.flags & ~(Want::kAgain | Want::kLast)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("a WANT with unknown flags ", want.flags));
  }
  return want;
}

absl::Status ParseJson(std::string_view body, google::protobuf::Message* message) {
  const auto parsed =
      google::protobuf::util::JsonStringToMessage(google::protobuf::StringPiece(body.data(), body.size()), message);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("JSON: ", std::string(parsed.message())));
}

std::string MakePacket(Type type, uint32_t stream, std::string_view body) {
  std::string out;
  out.reserve(kHeader + body.size());
  Put(static_cast<uint32_t>(type), &out);
  Put(stream, &out);
  out.append(body);
  return out;
}

std::string MakeBatch(uint32_t stream, const BatchHeader& header, const Batch& batch,
                      uint64_t (*offset_of)(const void* context, const void* memory), const void* context,
                      std::string_view state) {
  const auto at = [&](const void* memory) { return memory == nullptr ? 0 : offset_of(context, memory); };
  std::string out = MakePacket(Type::kBatch, stream, "");
  Put(header.sequence, &out);
  Put(header.name.slot, &out);
  Put(header.name.generation, &out);
  Put(batch.epoch(), &out);
  Put(header.step, &out);
  Put(batch.position(), &out);
  Put(uint64_t{batch.rows()}, &out);
  const bool substituted = batch.sources().data() != batch.ids().data();
  const uint32_t sets = batch.datasets().empty() ? 0 : 4;
  Put((header.last_of_epoch ? 1u : 0u) | (substituted ? 2u : 0u) | sets, &out);
  Put(static_cast<uint32_t>(batch.columns().size()), &out);
  Put(at(batch.ids().data()), &out);
  Put(at(batch.sources().data()), &out);
  Put(at(batch.valid().data()), &out);
  Put(header.held_bytes, &out);
  for (const ColumnView& column : batch.columns()) {
    // Never read the arena here: the trainer can write to it.
    const bool strings = column.info().type == ElementType::kString;
    const void* const values = strings ? column.string_text().data() : column.raw();
    const uint64_t bytes = strings ? column.string_text().size() : column.bytes();
    const uint64_t elements = strings                ? column.string_count()
                              : column.info().ragged ? bytes / ElementBytes(column.info())
                                                     : 0;
    Put(bytes == 0 ? uint64_t{0} : at(values), &out);
    Put(bytes, &out);
    Put(at(column.row_splits().data()), &out);
    Put(at(column.string_offsets().data()), &out);
    Put(elements, &out);
  }
  out.append(state);
  return out;
}

void SetSlotName(const SlotName& name, std::string* packet) {
  std::string bytes;
  Put(name.slot, &bytes);
  Put(name.generation, &bytes);
  packet->replace(kSlotNameAt, bytes.size(), bytes);
}

std::string ColumnsJson(const std::vector<ColumnInfo>& columns) {
  std::vector<std::string> items;
  for (const ColumnInfo& column : columns) {
    items.push_back(Json()
                        .Field("name", column.name)
                        .Field("type", ElementTypeName(column.type))
                        .Field("ragged", column.ragged)
                        .Raw("shape", absl::StrCat("[", absl::StrJoin(column.shape, ", "), "]"))
                        .Object());
  }
  return Json::Array(items);
}

std::string MessageJson(std::string_view text) { return Json().Field("message", text.substr(0, kMaxText)).Object(); }

std::string FailureJson(const absl::Status& status, std::optional<uint64_t> sequence) {
  const absl::string_view message = status.message().substr(0, kMaxText);
  Json json;
  json.Field("code", absl::StatusCodeToString(status.code()))
      .Field("message", std::string_view(message.data(), message.size()));
  if (sequence.has_value()) json.Field("sequence", *sequence);
  return json.Object();
}

}  // namespace penstock::feed
