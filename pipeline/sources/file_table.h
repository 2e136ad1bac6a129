// The files that the records of a manifest name, with the states in which they were indexed.
#ifndef PENSTOCK_PIPELINE_SOURCES_FILE_TABLE_H_
#define PENSTOCK_PIPELINE_SOURCES_FILE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace penstock::sources {

// A file, or a part of it.
struct FilePiece {
  // The path without symbolic links, from PathForIndex() (dataset_files.h).
  std::string path = {};
  uint64_t size = 0;  // bytes of the whole file
  // Time of the last change in seconds since 1970, so that copies keep it: 0 for objects.
  uint32_t mtime_s = 0;
  std::string tag = {};  // FileInfo::tag
  uint64_t offset = 0;   // where the piece begins
  uint32_t length = 0;
  // Not empty: the record has no file, for this reason. The other members then have no meaning.
  std::string error = {};

  // Returns whether a file with this state is the indexed one.
  bool IsOf(const FileInfo& info) const;
  // Returns the bytes that identify the piece for a content hash. Errors on different machines are equal.
  std::string Identity() const;

  bool operator==(const FilePiece&) const = default;
};

// Returns FileInfo::mtime_ns in seconds, as FilePiece has it.
uint32_t MtimeSeconds(const FileInfo& info);

// Plain data. Takes 40 bytes for each record, and the path and tag of each file. Neighboring records with parts of one
// file share its path.
class FileTable {
 public:
  // Returns false and adds nothing if the piece exceeds a limit: a path of 65,535 bytes, a tag of 255.
  bool Append(const FilePiece& piece);
  void Compact();
  size_t MemoryBytes() const;

  uint64_t records() const { return entries_.size(); }
  // k < records(), here and below.
  FilePiece Piece(uint64_t k) const;
  bool HasFile(uint64_t k) const { return entries_[k].has_file; }
  // Returns FilePiece::path; "" without a file.
  std::string_view Path(uint64_t k) const { return TextOf(entries_[k]).substr(0, entries_[k].path_bytes); }
  // Returns FilePiece::length, or the size of FilePiece::error.
  uint32_t Bytes(uint64_t k) const { return entries_[k].length; }

  // Returns the table of the records with these numbers, which ascend.
  FileTable Selected(std::span<const uint32_t> numbers) const;

  // Returns the content of the index's section.
  std::string Serialize() const;
  // Parses the result of Serialize() for this number of records. Returns nullopt if `content` is malformed. Never
  // allocates more than a small multiple of its size.
  static std::optional<FileTable> Parse(std::string_view content, uint64_t records);

  bool operator==(const FileTable&) const = default;

 private:
  struct Entry {
    uint64_t text = 0;  // where the path begins in texts_, with the tag after it; or the error, of `length` bytes
    uint64_t size = 0, offset = 0;
    uint32_t length = 0, mtime_s = 0;
    uint16_t path_bytes = 0;
    uint8_t tag_bytes = 0;
    bool has_file = false;

    bool operator==(const Entry&) const = default;
  };

  // Returns the path and the tag, or the error.
  std::string_view TextOf(const Entry& entry) const {
    const size_t bytes = entry.has_file ? size_t{entry.path_bytes} + entry.tag_bytes : entry.length;
    return std::string_view(texts_).substr(entry.text, bytes);
  }
  // Adds an entry of these members and this text, which it shares with the last entry if that has the same one.
  void Add(Entry entry, std::string_view text);

  std::vector<Entry> entries_;
  std::string texts_;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_FILE_TABLE_H_
