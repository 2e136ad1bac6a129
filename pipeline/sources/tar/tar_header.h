// Parses the headers of tar archives.
//
// The formats:
//   ustar and pax  POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange Format"
//   GNU            GNU tar manual, "Basic Tar Format": long names, base-256 numbers
//   v7             ustar without magic, prefix and types
// Where writers disagree, members are those of Python's tarfile, with which the webdataset package reads. One
// difference: tarfile takes the dates in the headers of incremental GNU archives for a prefix of the name. TarAssembler
// does not.
#ifndef PENSTOCK_PIPELINE_SOURCES_TAR_TAR_HEADER_H_
#define PENSTOCK_PIPELINE_SOURCES_TAR_TAR_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::sources {

// Size of a header. The data of a member is padded to a multiple of it.
inline constexpr size_t kTarBlockBytes = 512;

// Largest extension that TarAssembler accepts.
inline constexpr uint64_t kMaxTarExtensionBytes = uint64_t{1} << 20;

// Returns whether the 512 bytes at `block` are a tar header: its checksum is right, as a sum of signed or of unsigned
// bytes. A zero block is no header.
bool IsTarHeader(const char* block);

// Returns `size`, rounded up to a multiple of 512. Requires size <= INT64_MAX.
uint64_t TarPaddedBytes(uint64_t size);

struct TarMember {
  // The whole name, with its folders. Any bytes. Without the slashes at the end of a folder's name.
  std::string name;
  // Size of the data that follows the header, without padding. At most INT64_MAX. 0 for links, folders and devices,
  // whatever sizes their headers have.
  uint64_t size = 0;
  // Whether the member is a regular file. The data of a member of an unknown type is no file.
  bool is_file = true;
};

// Combines the blocks of an archive to members. The caller passes it every header and every extension, and skips data
// and padding. Safe for untrusted bytes. After an error, the object is unusable.
//
//   AddHeader(block)  kHeader     the next block is a header
//                     kExtension  extension_bytes() bytes follow, for AddExtension, and then their padding
//                     kMember     member().size bytes of data follow, and then their padding
//                     kEnd        the block is zero, and the archive ends
class TarAssembler {
 public:
  enum class Next { kHeader, kExtension, kMember, kEnd };

  // Parses the 512 bytes at `block`. Returns InvalidArgument, with the member's name if it is known, for a block that
  // is no header, a size that is no number, is negative or exceeds INT64_MAX, an extension over kMaxTarExtensionBytes,
  // a sparse member, and an end mark between an extension and its member.
  absl::StatusOr<Next> AddHeader(const char* block);

  // Valid after kExtension.
  uint64_t extension_bytes() const { return extension_bytes_; }

  // Parses the extension_bytes() bytes after an extension's header: a pax header or a long name. Returns
  // InvalidArgument for a malformed pax header, and for a global pax header that sets a path, a size or a field of
  // sparse members. AddHeader() then rejects the member if the extension makes it sparse or gives it an invalid size.
  absl::Status AddExtension(std::string_view payload);

  // Whether an extension without its member was added. The archive must not end here.
  bool awaits_member() const { return awaits_member_; }

  // Valid after kMember, until the next call of AddHeader.
  const TarMember& member() const { return member_; }

 private:
  absl::Status AddPaxHeader(std::string_view payload, bool global);

  TarMember member_;
  uint64_t extension_bytes_ = 0;
  char extension_type_ = '\0';
  std::string extension_name_;
  bool awaits_member_ = false;
  // Fields of the next member, from its extensions. The first extension that sets a field wins.
  std::optional<std::string> name_;
  std::optional<uint64_t> size_;
  std::string problem_;  // why the next member is rejected; empty if it is not
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TAR_TAR_HEADER_H_
