// Members of a zip archive (PKWARE's APPNOTE), stored or deflated, such as NumPy's .npz files.
#ifndef PENSTOCK_PIPELINE_IMPORT_ZIP_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_ZIP_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock::imports {

struct ZipMember {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0, bytes = 0;
  uint64_t header_offset = 0;
};

// Returns the entries of the archive's directory, in its order. Supports archives beyond 4 GiB. InvalidArgument: no zip
// archive, or an invalid directory. Safe for untrusted bytes.
absl::StatusOr<std::vector<ZipMember>> ListZip(const RandomAccessFile& file);

// Opens a member as a file called `name`, after checking its checksum. Its modification time and tag are those of the
// archive. A deflated member is unpacked into an unnamed file in the folder `scratch`. InvalidArgument: an unsupported
// method, encryption, or a header that is not where the directory states it. DataLoss: the member is damaged. Returns
// other errors of the files.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenZipMember(std::shared_ptr<const RandomAccessFile> file,
                                                                const ZipMember& member, const std::string& name,
                                                                const std::string& scratch);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_ZIP_FILE_H_
