#include "pipeline/records/file_kind.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr char kImages[] = "`penstock import` makes shards of images";
constexpr char kArrays[] = "`penstock import` makes shards of arrays";
constexpr char kZip[] = "unzip it: `penstock import` makes shards of the images or .npy files in it";
constexpr char kOthers[] = "leave it out, or write its content as TFRecords";

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
    {0, "PK\x03\x04", "a zip or .npz file", kZip},
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

}  // namespace

std::string WhatElseItIs(std::string_view first_bytes) {
  const auto text = [](const char* name, const char* way_out) {
    return absl::StrCat("this is ", name, ", not a TFRecord shard; ", way_out);
  };
  for (const Kind& kind : kKinds) {
    if (first_bytes.size() >= kind.offset && first_bytes.substr(kind.offset, kind.bytes.size()) == kind.bytes) {
      return text(kind.name, kind.way_out);
    }
  }
  return IsText(first_bytes) ? text("text", kOthers) : "";
}

}  // namespace penstock
