// The members of a zip archive (PKWARE's APPNOTE), stored or deflated: what NumPy's .npz files are.
#ifndef PENSTOCK_PIPELINE_IMPORT_ZIP_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_ZIP_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace penstock {

struct ZipMember {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0, bytes = 0;
  uint64_t header_offset = 0;
};

// What the archive's directory lists, in its order; archives beyond 4 GiB too. InvalidArgument: no zip archive, or a
// directory that makes no sense. Bytes from outside are safe.
absl::StatusOr<std::vector<ZipMember>> ListZip(const RandomAccessFile& file);

// A member as a file called `name`, whose checksum was found right; its time is the archive's. What is deflated is
// unpacked into a file without a name in the folder `scratch`. InvalidArgument: a method or an encryption that is not
// read. DataLoss: damaged. Other errors are those of the files.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenZipMember(std::shared_ptr<const RandomAccessFile> file,
                                                                const ZipMember& member, const std::string& name,
                                                                const std::string& scratch);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_ZIP_FILE_H_
