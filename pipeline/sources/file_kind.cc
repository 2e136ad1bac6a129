#include "pipeline/sources/file_kind.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/foreign_data.h"
#include "base/status_mark.h"

namespace penstock::sources {
namespace {

constexpr char kImages[] = "`penstock import` makes shards of images";
constexpr char kArrays[] = "`penstock import` makes shards of arrays";
constexpr char kTables[] = "--source CSV, TSV or TEXT reads it, and dataset { source: CSV } in a job";
constexpr char kJson[] = "write each of its objects as one line: `jq -c '.[]' FILE > FILE.jsonl`";
constexpr char kDamagedTar[] = "its first header is damaged: write it again";
constexpr char kZstd[] =
    "compress it with gzip, which can be read from any place: `zstd -dc FILE.zst | gzip > FILE.gz`, or convert JSON "
    "lines: "
    "`penstock convert FILE.zst --out DIR`";

struct Kind {
  size_t offset;
  std::string_view bytes;
  const char *name, *way_out;
};

constexpr Kind kKinds[] = {
    {0, "\xFF\xD8\xFF", "a JPEG image", kImages},
    {0, "\x89PNG\r\n", "a PNG image", kImages},
    {0, "GIF8", "a GIF image", kImages},
    {8, "WEBP", "a WebP image", kImages},
    {0, "PK\x03\x04", "a zip archive", "unzip it; `penstock import` makes shards of images in folders"},
    {0, "\x28\xB5\x2F\xFD", "a Zstandard stream", kZstd},
    {257, "ustar", "a damaged tar archive", kDamagedTar},
};

constexpr char kOtherKind[] = "penstock.other_kind_of_file";

// Returns whether all bytes are printable or line ends.
bool IsText(std::string_view bytes) {
  constexpr size_t kLeast = 12;  // size of a record's header
  return bytes.size() >= kLeast && std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) {
           return (c >= 0x20 && c != 0x7F) || c == '\n' || c == '\r' || c == '\t';
         });
}

// Returns whether it is a zip archive whose first member is an array. The local header has the name's length at 26 and
// the name at 30.
bool IsNpz(std::string_view bytes) {
  constexpr size_t kHeader = 30;
  if (bytes.substr(0, 4) != "PK\x03\x04" || bytes.size() < kHeader) return false;
  const size_t length = static_cast<unsigned char>(bytes[26]) + 256 * static_cast<unsigned char>(bytes[27]);
  const std::string_view name = bytes.substr(kHeader, length);
  return name.size() > 4 && name.substr(name.size() - 4) == ".npy";
}

}  // namespace

std::string WhatElseItIs(std::string_view first_bytes, bool compressed, std::string_view path) {
  const auto text = [compressed](std::string_view name, std::string_view way_out) {
    return absl::StrCat("this is ", std::string(name), compressed ? " (compressed)" : "",
                        ", neither a TFRecord nor a tar shard; ", std::string(way_out));
  };
  if (IsNpz(first_bytes)) return text("an .npz file", kArrays);
  for (const Kind& kind : kKinds) {
    if (first_bytes.size() >= kind.offset && first_bytes.substr(kind.offset, kind.bytes.size()) == kind.bytes) {
      return text(kind.name, kind.way_out);
    }
  }
  if (const std::string_view kind = ConvertibleKind(first_bytes); !kind.empty()) {
    return text(kind, compressed ? "decompress it for `penstock convert`" : ConvertHint(path));
  }
  if (!IsText(first_bytes)) return "";
  const bool is_json = first_bytes.front() == '[' || first_bytes.front() == '{';
  return is_json ? text("a JSON document", kJson) : text("text", kTables);
}

absl::Status OtherKindOfFile(std::string_view message) {
  return Marked(kOtherKind, absl::DataLossError({message.data(), message.size()}));
}

bool IsOtherKindOfFile(const absl::Status& status) { return HasMark(status, kOtherKind); }

}  // namespace penstock::sources
