// Any bytes as a zip archive of arrays: its directory, its members, and the arrays in them. The target also repairs
// checksums, to reach the code after their check. It compares our result with zlib's for the whole member at once.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/little_endian.h"
#include "pipeline/import/npy_file.h"
#include "pipeline/import/npz_file.h"
#include "pipeline/import/zip_file.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/support/allocation_peak.h"

namespace {

using penstock::RandomAccessFile;
using penstock::fuzz::BytesFile;
using penstock::imports::NpyFile;
using penstock::imports::ZipMember;

// Members may share their bytes, so that all of them together could inflate to far too many.
constexpr size_t kMembers = 4;
// Deflate's largest expansion of a byte.
constexpr uint64_t kMostInflated = 1032;
constexpr uint64_t kLocalHeader = 30;
// Two pieces and zlib's state, for any size in the member's header.
constexpr size_t kMemberMemory = 1 << 20;
constexpr uint64_t kFewRows = 1 << 16;

const std::string& ScratchFolder() {
  static const auto* const folder = new std::string(std::filesystem::temp_directory_path().string());
  return *folder;
}

uint32_t Checksum(std::string_view bytes) {
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

// Inflates all of `packed` at once. Returns nullopt unless the result has exactly `size` bytes.
std::optional<std::string> Inflated(std::string_view packed, uint64_t size) {
  if (size > kMostInflated * packed.size()) return std::nullopt;
  std::string out(size + 1, '\0');
  z_stream zlib = {};
  PS_CHECK(inflateInit2(&zlib, -MAX_WBITS) == Z_OK);
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  zlib.avail_in = static_cast<uInt>(packed.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  const int rc = inflate(&zlib, Z_FINISH);
  const bool whole = rc == Z_STREAM_END && zlib.avail_in == 0 && zlib.total_out == size;
  inflateEnd(&zlib);
  if (!whole) return std::nullopt;
  out.resize(size);
  return out;
}

// The member's content by a second implementation of the format, or nullopt if the member must be rejected.
std::optional<std::string> ContentOf(std::string_view bytes, const ZipMember& member) {
  if (member.header_offset > bytes.size()) return std::nullopt;
  const std::string_view local = bytes.substr(member.header_offset);
  if (local.size() < kLocalHeader || local.substr(0, 4) != "PK\x03\x04" || (member.flags & 1) != 0) return std::nullopt;
  const uint64_t begin = kLocalHeader + penstock::LoadLittleEndian<uint16_t>(local.data() + 26) +
                         penstock::LoadLittleEndian<uint16_t>(local.data() + 28);
  if (begin > local.size() || member.packed_bytes > local.size() - begin) return std::nullopt;
  const std::string_view packed = local.substr(begin, member.packed_bytes);
  if (member.method == 8) return Inflated(packed, member.bytes);
  if (member.method != 0 || member.packed_bytes != member.bytes) return std::nullopt;
  return std::string(packed);
}

std::string ReadAll(const RandomAccessFile& file) {
  const auto info = file.Info();
  PS_CHECK(info.ok());
  std::string content(info->size + 1, '\0');
  const auto got = file.ReadAt(0, content.size(), content.data());
  PS_CHECK(got.ok() && *got == info->size);
  content.resize(*got);
  char beyond = 0;
  const auto none = file.ReadAt(info->size, 1, &beyond);
  PS_CHECK(none.ok() && *none == 0);
  return content;
}

// If the content is an array, it must have the number of rows in its header, and as many labels if it has labels.
void CheckArray(std::unique_ptr<RandomAccessFile> file, const std::string& content) {
  const auto header = penstock::ParseNpyHeader(content);
  const auto npy = NpyFile::Open(std::move(file));
  if (!npy.ok()) {
    PS_CHECK(!npy.status().message().empty());
    return;
  }
  PS_CHECK(header.ok() && header->data_offset <= content.size());
  const uint64_t rows = (*npy)->rows(), row_bytes = (*npy)->row_bytes();
  PS_CHECK(rows > 0 && row_bytes > 0 && content.size() - header->data_offset == rows * row_bytes);
  std::string row;
  for (const uint64_t i : {uint64_t{0}, rows / 2, rows - 1}) {
    PS_CHECK((*npy)->ReadRow(i, &row).ok());
    PS_CHECK(row == std::string_view(content).substr(header->data_offset + i * row_bytes, row_bytes));
  }
  if (rows > kFewRows) return;
  const auto labels = penstock::imports::ReadNpyLabels(**npy);
  if (labels.ok()) PS_CHECK(labels->size() == rows);
}

void CheckMember(const std::shared_ptr<const RandomAccessFile>& file, std::string_view bytes, ZipMember member) {
  const std::optional<std::string> content = ContentOf(bytes, member);
  for (const bool repaired : {false, true}) {
    if (repaired && content.has_value()) member.crc = Checksum(*content);
    absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened = absl::UnknownError("");
    {
      const penstock::support::AllocationPeak peak;
      opened = penstock::imports::OpenZipMember(file, member, "member", ScratchFolder());
      PS_CHECK(peak.bytes() <= kMemberMemory);
    }
    PS_CHECK(opened.ok() == (content.has_value() && member.crc == Checksum(*content)));
    if (!opened.ok()) {
      PS_CHECK(absl::IsInvalidArgument(opened.status()) || absl::IsDataLoss(opened.status()));
      continue;
    }
    PS_CHECK(ReadAll(**opened) == *content);
    CheckArray(*std::move(opened), *content);
  }
}

// Opens the archive as a user does: by its path.
void CheckNpz(std::string_view bytes) {
  const int fd = memfd_create("archive", MFD_CLOEXEC);
  PS_CHECK(fd >= 0 && write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  penstock::imports::NpzOptions options;
  options.scratch = ScratchFolder();
  const auto npz =
      penstock::imports::OpenNpz(penstock::storage::LocalFiles(), absl::StrCat("/proc/self/fd/", fd), options);
  close(fd);
  if (!npz.ok()) {
    PS_CHECK(absl::IsInvalidArgument(npz.status()) || absl::IsDataLoss(npz.status()));
    return;
  }
  PS_CHECK(npz->rows->rows() > 0);
  PS_CHECK(npz->labels.empty() == npz->labels_name.empty());
  PS_CHECK(npz->labels.empty() || npz->labels.size() == npz->rows->rows());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)penstock::ParseNpyHeader(bytes);
  const auto file = std::make_shared<BytesFile>(bytes);
  absl::StatusOr<std::vector<ZipMember>> members = std::vector<ZipMember>();
  {
    const penstock::support::AllocationPeak peak;
    members = penstock::imports::ListZip(*file);
    PS_CHECK(peak.bytes() <= 16 * size + (128 << 10));
  }
  if (members.ok()) {
    for (size_t i = 0; i < std::min(members->size(), kMembers); ++i) CheckMember(file, bytes, (*members)[i]);
  } else {
    PS_CHECK(absl::IsInvalidArgument(members.status()));
  }
  CheckNpz(bytes);
  return 0;
}
