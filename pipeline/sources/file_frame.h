// The data of a record that names a file (ContainerKind::kManifest), as ShardReader returns them:
//   the kind of its text: "jsonl", "csv" or "tsv", "\n";
//   csv, tsv: the row of names, "\n"; the row, with its end;
//   the bytes of the file;
//   u32 bytes of the parts before the file, u32 bytes of the file, u8 state.
// Numbers are little-endian. The first two lines are the head of the shard (ShardIndex::head).
#ifndef PENSTOCK_PIPELINE_SOURCES_FILE_FRAME_H_
#define PENSTOCK_PIPELINE_SOURCES_FILE_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::sources {

enum class FileState : uint8_t {
  kRead = 0,
  kNotRead = 1,  // no feature needs the file: it has no bytes here
  kNone = 2,     // the record has no file: the bytes are the reason
};

struct FramedFile {
  enum class Text { kJsonl, kCsv, kTsv };
  Text text = Text::kJsonl;
  std::string_view row;  // a JSON object, or the row of names and a row
  std::string_view file;
  FileState state = FileState::kNotRead;
};

inline constexpr size_t kFileTrailerBytes = 2 * sizeof(uint32_t) + 1;
inline constexpr std::string_view kJsonlHead = "jsonl\n", kCsvHead = "csv\n", kTsvHead = "tsv\n";

// Writes the bytes after the file to `out`.
void StoreFileTrailer(uint32_t row_bytes, uint32_t file_bytes, FileState state, char* out);

// Parses the data of a record. The row is without its end. Returns InvalidArgument if they are malformed.
absl::StatusOr<FramedFile> ParseFileFrame(std::string_view data);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_FILE_FRAME_H_
