#include "pipeline/sources/file_table.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"
#include "pipeline/sources/shard_index_bytes.h"

namespace penstock::sources {
namespace {

constexpr size_t kMostErrorBytes = 1000;
// Parse() accepts no file that ends after this offset.
constexpr uint64_t kMostFileBytes = uint64_t{1} << 62;

}  // namespace

uint32_t MtimeSeconds(const FileInfo& info) {
  return static_cast<uint32_t>(std::clamp<int64_t>(info.mtime_ns / 1'000'000'000, 0, UINT32_MAX));
}

bool FilePiece::IsOf(const FileInfo& info) const {
  return info.size == size && info.tag == tag && MtimeSeconds(info) == mtime_s;
}

std::string FilePiece::Identity() const {
  std::string out(1, error.empty() ? 'f' : 'e');
  if (!error.empty()) return out;
  AppendFixed(size, &out);
  AppendFixed(mtime_s, &out);
  AppendFixed(offset, &out);
  AppendFixed(length, &out);
  return out + tag;
}

bool FileTable::Append(const FilePiece& piece) {
  if (!piece.error.empty()) {
    const std::string_view error = std::string_view(piece.error).substr(0, kMostErrorBytes);
    Add({.length = static_cast<uint32_t>(error.size())}, error);
    return true;
  }
  if (piece.path.size() > UINT16_MAX || piece.tag.size() > UINT8_MAX) return false;
  Add({.size = piece.size,
       .offset = piece.offset,
       .length = piece.length,
       .mtime_s = piece.mtime_s,
       .path_bytes = static_cast<uint16_t>(piece.path.size()),
       .tag_bytes = static_cast<uint8_t>(piece.tag.size()),
       .has_file = true},
      piece.path + piece.tag);
  return true;
}

void FileTable::Add(Entry entry, std::string_view text) {
  if (!entries_.empty() && TextOf(entries_.back()) == text) {
    entry.text = entries_.back().text;
  } else {
    entry.text = texts_.size();
    texts_.append(text);
  }
  entries_.push_back(entry);
}

FilePiece FileTable::Piece(uint64_t k) const {
  const Entry& entry = entries_[k];
  const std::string_view text = TextOf(entry);
  if (!entry.has_file) return {.error = std::string(text)};
  return {.path = std::string(text.substr(0, entry.path_bytes)),
          .size = entry.size,
          .mtime_s = entry.mtime_s,
          .tag = std::string(text.substr(entry.path_bytes)),
          .offset = entry.offset,
          .length = entry.length};
}

void FileTable::Compact() {
  entries_.shrink_to_fit();
  texts_.shrink_to_fit();
}

size_t FileTable::MemoryBytes() const { return entries_.capacity() * sizeof(Entry) + texts_.capacity(); }

FileTable FileTable::Selected(std::span<const uint32_t> numbers) const {
  FileTable made;
  for (const uint32_t number : numbers) made.Add(entries_[number], TextOf(entries_[number]));
  return made;
}

// For each record, with varints unless noted: u8 1 if it has a file, otherwise 0. Without a file: the bytes of the
// error, the error. With a file: size, u32 time, offset, length, bytes of the path + 1 or 0 if the file is that of the
// record before, the path, bytes of the tag, the tag.
std::string FileTable::Serialize() const {
  std::string out;
  for (size_t k = 0; k < entries_.size(); ++k) {
    const Entry& entry = entries_[k];
    const std::string_view text = TextOf(entry);
    AppendFixed(static_cast<uint8_t>(entry.has_file ? 1 : 0), &out);
    if (!entry.has_file) {
      AppendVarint(text.size(), &out);
      out.append(text);
      continue;
    }
    AppendVarint(entry.size, &out);
    AppendFixed(entry.mtime_s, &out);
    AppendVarint(entry.offset, &out);
    AppendVarint(entry.length, &out);
    const bool same = k > 0 && entries_[k - 1].has_file && entries_[k - 1].text == entry.text &&
                      entries_[k - 1].path_bytes == entry.path_bytes && entries_[k - 1].tag_bytes == entry.tag_bytes;
    AppendVarint(same ? 0 : uint64_t{entry.path_bytes} + 1, &out);
    if (same) continue;
    out.append(text.substr(0, entry.path_bytes));
    AppendVarint(entry.tag_bytes, &out);
    out.append(text.substr(entry.path_bytes));
  }
  return out;
}

std::optional<FileTable> FileTable::Parse(std::string_view content, uint64_t records) {
  WireReader in(content);
  FileTable table;
  if (records > in.left()) return std::nullopt;
  for (uint64_t k = 0; k < records; ++k) {
    Entry entry;
    uint8_t has_file = 0;
    if (!ReadFixed(&in, &has_file) || has_file > 1) return std::nullopt;
    entry.has_file = has_file == 1;
    if (!entry.has_file) {
      std::string_view error;
      if (!in.ReadLengthPrefixed(&error) || error.empty() || error.size() > kMostErrorBytes) return std::nullopt;
      entry.length = static_cast<uint32_t>(error.size());
      table.Add(entry, error);
      continue;
    }
    uint64_t length = 0, path_bytes = 0, tag_bytes = 0;
    if (!in.ReadVarint(&entry.size) || !ReadFixed(&in, &entry.mtime_s) || !in.ReadVarint(&entry.offset) ||
        !in.ReadVarint(&length) || !in.ReadVarint(&path_bytes) || entry.size > kMostFileBytes || length > UINT32_MAX ||
        entry.offset > entry.size || length > entry.size - entry.offset || path_bytes > uint64_t{UINT16_MAX} + 1) {
      return std::nullopt;
    }
    entry.length = static_cast<uint32_t>(length);
    if (path_bytes == 0) {
      if (k == 0 || !table.entries_.back().has_file) return std::nullopt;
      entry.text = table.entries_.back().text;
      entry.path_bytes = table.entries_.back().path_bytes;
      entry.tag_bytes = table.entries_.back().tag_bytes;
      table.entries_.push_back(entry);
      continue;
    }
    std::string_view path, tag;
    if (!in.ReadBytes(path_bytes - 1, &path) || !in.ReadVarint(&tag_bytes) || tag_bytes > UINT8_MAX ||
        !in.ReadBytes(tag_bytes, &tag)) {
      return std::nullopt;
    }
    entry.path_bytes = static_cast<uint16_t>(path.size());
    entry.tag_bytes = static_cast<uint8_t>(tag.size());
    table.Add(entry, std::string(path) + std::string(tag));
  }
  if (!in.done()) return std::nullopt;
  table.Compact();
  return table;
}

}  // namespace penstock::sources
