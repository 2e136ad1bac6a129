#include "pipeline/pack/packed_features.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/records/example_builder.h"

namespace penstock::pack {
namespace {

constexpr uint8_t kArray = 4;
constexpr size_t kMaxAxes = 32;

// Reads numbers and bytes from the front. After a failure, all reads fail.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : left_(bytes) {}
  bool empty() const { return left_.empty(); }
  bool ok() const { return ok_; }

  std::string_view Bytes(uint64_t count) {
    if (!ok_ || count > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view out = left_.substr(0, count);
    left_.remove_prefix(count);
    return out;
  }
  template <typename T>
  T Number() {
    T value = 0;
    const std::string_view bytes = Bytes(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  template <typename T>
  std::vector<T> Numbers(uint64_t count) {
    const std::string_view bytes = Bytes(count * sizeof(T));
    std::vector<T> values(ok_ ? count : 0);
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::string_view left_;
  bool ok_ = true;
};

absl::Status Values(std::string_view key, uint8_t kind, Cursor* in, PackedValue* value,
                    records::ExampleBuilder* example) {
  value->kind = static_cast<records::FeatureKind>(kind);
  value->single = in->Number<uint8_t>() != 0;
  value->count = in->Number<uint32_t>();
  if (value->single && value->count != 1) {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(key), "' is one value and has ", value->count));
  }
  switch (value->kind) {
    case records::FeatureKind::kBytes: {
      if (value->count == 1) {
        value->first_bytes = in->Bytes(in->Number<uint32_t>());
        example->Bytes(key, value->first_bytes);
        break;
      }
      std::vector<std::string_view> values;
      for (uint64_t i = 0; i < value->count && in->ok(); ++i) values.push_back(in->Bytes(in->Number<uint32_t>()));
      if (!values.empty()) value->first_bytes = values[0];
      example->BytesList(key, values);
      break;
    }
    case records::FeatureKind::kFloat:
      if (value->count == 1) {
        example->Float(key, in->Number<float>());
      } else {
        example->FloatList(key, in->Numbers<float>(value->count));
      }
      break;
    default:
      if (value->count == 1) {
        example->Int64(key, in->Number<int64_t>());
      } else {
        example->Int64List(key, in->Numbers<int64_t>(value->count));
      }
  }
  return absl::OkStatus();
}

absl::Status Array(std::string_view key, Cursor* in, PackedValue* value, records::ExampleBuilder* example) {
  value->kind = records::FeatureKind::kBytes;
  const uint8_t type = in->Number<uint8_t>(), axes = in->Number<uint8_t>();
  if (!batch::IsDType(type) || static_cast<batch::DType>(type) == batch::DType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(key), "' is an array of type ", type, ", which is none"));
  }
  if (axes > kMaxAxes) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(key), "' is an array of ", axes, " axes; at most ", kMaxAxes));
  }
  value->array = static_cast<batch::DType>(type);
  value->single = axes == 0;
  value->count = 1;
  unsigned __int128 bytes = batch::DTypeSize(value->array);
  for (int i = 0; i < axes; ++i) {
    const uint64_t extent = in->Number<uint64_t>();
    bytes *= extent;
    // An array without elements has no bytes, whatever its other extents.
    if (bytes >> 40 != 0 || extent >> 40 != 0)
      return absl::InvalidArgumentError(absl::StrCat("'", std::string(key), "' is an array of too many bytes"));
    if (i == 0) {
      value->count = extent;
    } else {
      value->inner_shape.push_back(static_cast<int64_t>(extent));
    }
  }
  example->Bytes(key, in->Bytes(static_cast<uint64_t>(bytes)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ExampleOf(std::string_view features, PackedValues* values) {
  values->clear();
  Cursor in(features);
  records::ExampleBuilder example;
  while (!in.empty() && in.ok()) {
    const std::string_view key = in.Bytes(in.Number<uint16_t>());
    const uint8_t kind = in.Number<uint8_t>();
    if (in.ok() && (kind < 1 || kind > kArray)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", std::string(key), "' is of kind ", kind, "; kinds are 1 to 4"));
    }
    PackedValue value;
    PS_RETURN_IF_ERROR(kind == kArray ? Array(key, &in, &value, &example) : Values(key, kind, &in, &value, &example));
    if (!in.ok()) break;
    values->emplace_back(key, std::move(value));
  }
  if (!in.ok()) return absl::InvalidArgumentError("the features end too early");
  std::vector<std::string_view> keys;
  keys.reserve(values->size());
  for (const auto& [key, value] : *values) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(*twice), "' is there twice"));
  }
  return example.Serialize();
}

absl::StatusOr<std::string> ExampleOf(std::string_view features, PackSchema* schema) {
  PackedValues values;
  PS_ASSIGN_OR_RETURN(std::string example, ExampleOf(features, &values));
  PS_RETURN_IF_ERROR(schema->AddRecord(values));
  return example;
}

}  // namespace penstock::pack
