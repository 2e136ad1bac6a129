#include "pipeline/records/file_kind.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr char kImages[] = "`penstock import` makes shards of images";
constexpr char kArrays[] = "`penstock import` makes shards of arrays";
constexpr char kOthers[] = "leave it out, or write its content as TFRecords (penstock.ShardWriter in Python does)";

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
    {0, "\x93NUMPY", "a NumPy array", kArrays},
    {0, "PAR1", "a Parquet file", kOthers},
    {0, "\x89HDF\r\n", "an HDF5 file", kOthers},
    {0, "ARROW1", "an Arrow file", kOthers},
    {257, "ustar", "a tar archive", "unpack it; `penstock import` makes shards of images in folders"},
};

// Printable, with the ends of lines.
bool IsText(std::string_view bytes) {
  constexpr size_t kLeast = 12;  // a record's header
  return bytes.size() >= kLeast && std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) {
           return (c >= 0x20 && c != 0x7F) || c == '\n' || c == '\r' || c == '\t';
         });
}

// A zip archive whose first member is an array (its local header: the name's length at 26, the name at 30).
bool IsNpz(std::string_view bytes) {
  constexpr size_t kHeader = 30;
  if (bytes.substr(0, 4) != "PK\x03\x04" || bytes.size() < kHeader) return false;
  const size_t length = static_cast<unsigned char>(bytes[26]) + 256 * static_cast<unsigned char>(bytes[27]);
  const std::string_view name = bytes.substr(kHeader, length);
  return name.size() > 4 && name.substr(name.size() - 4) == ".npy";
}

}  // namespace

std::string WhatElseItIs(std::string_view first_bytes, bool compressed) {
  const auto text = [compressed](const char* name, const char* way_out) {
    return absl::StrCat("this is ", name, compressed ? " (compressed)" : "", ", not a TFRecord shard; ", way_out);
  };
  if (IsNpz(first_bytes)) return text("an .npz file", kArrays);
  for (const Kind& kind : kKinds) {
    if (first_bytes.size() >= kind.offset && first_bytes.substr(kind.offset, kind.bytes.size()) == kind.bytes) {
      return text(kind.name, kind.way_out);
    }
  }
  return IsText(first_bytes) ? text("text", kOthers) : "";
}

}  // namespace penstock
