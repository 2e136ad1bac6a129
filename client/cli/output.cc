#include "client/cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/json.h"

namespace penstock::cli {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string Count(uint64_t n) {
  std::string digits = absl::StrCat(n);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Count(uint64_t n, std::string_view noun) {
  return absl::StrCat(Count(n), " ", std::string(noun), n == 1 ? "" : "s");
}

std::string HumanBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return absl::StrFormat("%d B", bytes);
  return absl::StrFormat("%.*f %s", value < 10 ? 1 : 0, value, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (seconds < 1) return absl::StrFormat("%.0f ms", seconds * 1000);
  if (seconds < 120) return absl::StrFormat("%.1f s", seconds);
  const auto minutes = static_cast<int64_t>(std::llround(seconds / 60));
  if (minutes < 60) return absl::StrFormat("%d min", minutes);
  return absl::StrFormat("%d h %02d min", minutes / 60, minutes % 60);
}

Table::Table(std::vector<std::string> header, std::vector<size_t> right) : right_(header.size(), false) {
  for (const size_t column : right) right_[column] = true;
  rows_.push_back(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  row.resize(right_.size());
  rows_.push_back(std::move(row));
}

std::string Table::Text() const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", right_[c] ? pad : "", row[c], right_[c] ? "" : pad);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string Wrapped(std::string_view text, size_t width, size_t indent) {
  std::string out, line;
  const std::string start = absl::StrCat("\n", std::string(indent, ' '));
  for (const absl::string_view paragraph : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    if (!out.empty() || !line.empty()) {
      absl::StrAppend(&out, line, start);
      line = std::string();
    }
    size_t used = out.empty() ? 0 : indent;
    for (const absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (!line.empty() && used + line.size() + 1 + word.size() > width) {
        absl::StrAppend(&out, line, start);
        line.clear();
        used = indent;
      }
      absl::StrAppend(&line, line.empty() ? "" : " ", word);
    }
  }
  return out + line;
}

bool IsTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)), terminal_(IsTerminal(STDERR_FILENO)) {}

void ProgressBar::Update(double fraction, const std::string& note) {
  constexpr int kWidth = 30;
  constexpr double kRedrawSeconds = 0.1;
  const double now = SteadySeconds();
  if (!terminal_ || (drawn_ && now - last_draw_ < kRedrawSeconds && fraction < 1)) return;
  last_draw_ = now;
  drawn_ = true;
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  std::fprintf(
      stderr, "\r%s [%s%s] %3.0f %%  %s\033[K", what_.c_str(), std::string(static_cast<size_t>(full), '#').c_str(),
      std::string(static_cast<size_t>(kWidth - full), '.').c_str(), std::clamp(fraction, 0.0, 1.0) * 100, note.c_str());
  std::fflush(stderr);
}

void ProgressBar::Finish() {
  if (!drawn_) return;
  std::fputc('\n', stderr);
  drawn_ = false;
}

namespace {

namespace pb = google::protobuf;

// Returns true for hashes, fingerprints, ids and revisions, of which all 64 bits matter.
bool IsIdentifier(const pb::FieldDescriptor* field) {
  const bool wide = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_UINT64 ||
                    field->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT64;
  if (!wide) return false;
  for (const char* suffix : {"hash", "fingerprint", "uid", "id", "revision", "incarnation"}) {
    const std::string& name = field->name();
    if (name == suffix || absl::EndsWith(name, absl::StrCat("_", suffix))) return true;
  }
  return false;
}

std::string Wide(const pb::FieldDescriptor* field, std::string number) {
  return IsIdentifier(field) ? Json::Quote(number) : number;
}

// Returns the shortest text that converts back to the same number.
template <typename T>
std::string ShortestNumber(T value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  return std::isfinite(value) ? std::string(digits, end) : Json::Quote({digits, static_cast<size_t>(end - digits)});
}

// Returns true if a message of type `holder`, with all fields set, contains a message of type `kind`.
bool Holds(const pb::Descriptor* holder, const pb::Descriptor* kind, std::set<const pb::Descriptor*>* seen) {
  for (int f = 0; f < holder->field_count(); ++f) {
    const pb::FieldDescriptor* field = holder->field(f);
    const bool always = !field->is_repeated() && field->containing_oneof() == nullptr;
    if (!always || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->message_type() == kind) return true;
    if (seen->insert(field->message_type()).second && Holds(field->message_type(), kind, seen)) return true;
  }
  return false;
}

bool HoldsItsOwnKind(const pb::Descriptor* kind) {
  std::set<const pb::Descriptor*> seen;
  return Holds(kind, kind, &seen);
}

// Returns one value of a field as JSON. `i` is -1 for fields that are not repeated.
std::string ValueToJson(const pb::Message& message, const pb::FieldDescriptor* field, int i) {
  const pb::Reflection* r = message.GetReflection();
  const bool many = i >= 0;
  switch (field->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(many ? r->GetRepeatedInt32(message, field, i) : r->GetInt32(message, field));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return Wide(field, absl::StrCat(many ? r->GetRepeatedInt64(message, field, i) : r->GetInt64(message, field)));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(many ? r->GetRepeatedUInt32(message, field, i) : r->GetUInt32(message, field));
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return Wide(field, absl::StrCat(many ? r->GetRepeatedUInt64(message, field, i) : r->GetUInt64(message, field)));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return ShortestNumber(many ? r->GetRepeatedDouble(message, field, i) : r->GetDouble(message, field));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return ShortestNumber(many ? r->GetRepeatedFloat(message, field, i) : r->GetFloat(message, field));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return (many ? r->GetRepeatedBool(message, field, i) : r->GetBool(message, field)) ? "true" : "false";
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return Json::Quote((many ? r->GetRepeatedEnum(message, field, i) : r->GetEnum(message, field))->name());
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = many ? r->GetRepeatedString(message, field, i) : r->GetString(message, field);
      return Json::Quote(field->type() == pb::FieldDescriptor::TYPE_BYTES ? absl::BytesToHexString(text) : text);
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageToJson(many ? r->GetRepeatedMessage(message, field, i) : r->GetMessage(message, field));
  }
  return "null";
}

}  // namespace

std::string MessageToJson(const pb::Message& message) {
  Json json;
  const pb::Descriptor* d = message.GetDescriptor();
  for (int f = 0; f < d->field_count(); ++f) {
    const pb::FieldDescriptor* field = d->field(f);
    if (field->is_repeated()) {
      std::vector<std::string> items;
      const int count = message.GetReflection()->FieldSize(message, field);
      for (int i = 0; i < count; ++i) items.push_back(ValueToJson(message, field, i));
      json.Raw(field->name(), Json::Array(items));
    } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE && field->containing_oneof() == nullptr &&
               !message.GetReflection()->HasField(message, field) && HoldsItsOwnKind(field->message_type())) {
      json.Raw(field->name(), "null");  // all fields would recurse without end
    } else if (field->containing_oneof() == nullptr || message.GetReflection()->HasField(message, field)) {
      json.Raw(field->name(), ValueToJson(message, field, -1));
    }
  }
  return json.Object();
}

}  // namespace penstock::cli
