#include "pipeline/sources/file_frame.h"

#include "base/little_endian.h"

namespace penstock::sources {

void StoreFileTrailer(uint32_t row_bytes, uint32_t file_bytes, FileState state, char* out) {
  StoreLittleEndian(row_bytes, out);
  StoreLittleEndian(file_bytes, out + sizeof(uint32_t));
  out[2 * sizeof(uint32_t)] = static_cast<char>(state);
}

absl::StatusOr<FramedFile> ParseFileFrame(std::string_view data) {
  const auto malformed = [] { return absl::InvalidArgumentError("not a record of a manifest"); };
  if (data.size() < kFileTrailerBytes) return malformed();
  const char* const trailer = data.data() + data.size() - kFileTrailerBytes;
  const uint64_t row_bytes = LoadLittleEndian<uint32_t>(trailer);
  const uint64_t file_bytes = LoadLittleEndian<uint32_t>(trailer + sizeof(uint32_t));
  const auto state = static_cast<uint8_t>(trailer[2 * sizeof(uint32_t)]);
  if (row_bytes + file_bytes + kFileTrailerBytes != data.size() || state > static_cast<uint8_t>(FileState::kNone)) {
    return malformed();
  }
  FramedFile framed{.row = data.substr(0, row_bytes),
                    .file = data.substr(row_bytes, file_bytes),
                    .state = static_cast<FileState>(state)};
  const auto take = [&framed](std::string_view head) {
    if (!framed.row.starts_with(head)) return false;
    framed.row.remove_prefix(head.size());
    return true;
  };
  if (take(kCsvHead)) {
    framed.text = FramedFile::Text::kCsv;
  } else if (take(kTsvHead)) {
    framed.text = FramedFile::Text::kTsv;
  } else if (!take(kJsonlHead)) {
    return malformed();
  }
  if (framed.row.ends_with('\n')) framed.row.remove_suffix(1);
  if (framed.row.ends_with('\r')) framed.row.remove_suffix(1);
  return framed;
}

}  // namespace penstock::sources
