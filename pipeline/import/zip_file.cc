#include "pipeline/import/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "pipeline/import/scratch_file.h"

namespace penstock::imports {
namespace {

// Fixed sizes of the format's records.
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr size_t kMostComment = 65535;
constexpr uint64_t kMostDirectory = uint64_t{64} << 20;
constexpr size_t kZipPiece = 256 << 10;
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;
constexpr uint16_t kZip64Extra = 1;

template <typename T>
T At(std::string_view bytes, size_t offset) {
  return LoadLittleEndian<T>(bytes.data() + offset);
}

absl::Status NoZip() { return absl::InvalidArgumentError("this is no zip archive, or it is cut off"); }

absl::StatusOr<std::string> ReadPiece(const RandomAccessFile& file, uint64_t offset, size_t length) {
  std::string bytes(length, '\0');
  PS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(offset, length, bytes.data()));
  if (got < length) return NoZip();
  return bytes;
}

struct Directory {
  uint64_t offset = 0, bytes = 0;
};

absl::StatusOr<Directory> FindDirectory(const RandomAccessFile& file, uint64_t size) {
  if (size < kEndBytes) return NoZip();
  const uint64_t tail = std::min<uint64_t>(size, kEndBytes + kMostComment);
  PS_ASSIGN_OR_RETURN(const std::string end, ReadPiece(file, size - tail, tail));
  const size_t at = end.rfind(std::string_view("PK\x05\x06"));
  if (at == std::string::npos || end.size() - at < kEndBytes) return NoZip();
  const std::string_view record = std::string_view(end).substr(at);
  Directory directory{.offset = At<uint32_t>(record, 16), .bytes = At<uint32_t>(record, 12)};
  const bool large = directory.offset == UINT32_MAX || directory.bytes == UINT32_MAX;
  if (large) {
    if (at < kLocator64Bytes || end.compare(at - kLocator64Bytes, 4, "PK\x06\x07") != 0) return NoZip();
    const auto where = At<uint64_t>(end, at - kLocator64Bytes + 8);
    if (where > size || size - where < kEnd64Bytes) return NoZip();
    PS_ASSIGN_OR_RETURN(const std::string end64, ReadPiece(file, where, kEnd64Bytes));
    if (end64.compare(0, 4, "PK\x06\x06") != 0) return NoZip();
    directory = {.offset = At<uint64_t>(end64, 48), .bytes = At<uint64_t>(end64, 40)};
  }
  if (directory.offset > size || directory.bytes > size - directory.offset || directory.bytes > kMostDirectory) {
    return NoZip();
  }
  return directory;
}

// Reads the sizes and the offset that do not fit 32 bits. They are in this order, and each is present only if needed.
bool TakeZip64(std::string_view extra, ZipMember* member) {
  while (extra.size() >= 4) {
    const auto id = At<uint16_t>(extra, 0);
    const size_t length = At<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return false;
    std::string_view value = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != kZip64Extra) continue;
    for (uint64_t* field : {&member->bytes, &member->packed_bytes, &member->header_offset}) {
      if (*field != UINT32_MAX) continue;
      if (value.size() < sizeof(uint64_t)) return false;
      *field = At<uint64_t>(value, 0);
      value.remove_prefix(sizeof(uint64_t));
    }
  }
  return true;
}

using TakePiece = std::function<absl::Status(std::string_view)>;

// Reads the stored bytes of the member.
absl::Status ForEachPiece(const RandomAccessFile& file, uint64_t offset, uint64_t length, const TakePiece& take) {
  std::string piece;
  while (length > 0) {
    piece.resize(std::min<uint64_t>(length, kZipPiece));
    PS_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(offset, piece.size(), piece.data()));
    if (got < piece.size()) return absl::DataLossError("the archive is cut off");
    PS_RETURN_IF_ERROR(take(piece));
    offset += got;
    length -= got;
  }
  return absl::OkStatus();
}

// Inflates the stored bytes, to exactly `most` bytes.
absl::Status InflateAll(const RandomAccessFile& file, uint64_t offset, uint64_t length, uint64_t most,
                        const TakePiece& take) {
  z_stream zlib = {};
  if (inflateInit2(&zlib, -MAX_WBITS) != Z_OK) return absl::ResourceExhaustedError("no memory to inflate it");
  const auto end = absl::MakeCleanup([&zlib] { inflateEnd(&zlib); });
  std::string out(kZipPiece, '\0');
  uint64_t made = 0;
  int rc = Z_OK;
  const absl::Status damaged = absl::DataLossError("its compressed data is damaged");
  const TakePiece inflate_piece = [&](std::string_view piece) -> absl::Status {
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    zlib.avail_in = static_cast<uInt>(piece.size());
    do {
      if (rc == Z_STREAM_END) return damaged;  // bytes follow the end of the stream
      zlib.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib.avail_out = static_cast<uInt>(out.size());
      rc = inflate(&zlib, Z_NO_FLUSH);
      const size_t got = out.size() - zlib.avail_out;
      made += got;
      if ((rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) || made > most) return damaged;
      PS_RETURN_IF_ERROR(take(std::string_view(out).substr(0, got)));
      // If the stream ends with the piece, all output has been written.
    } while (zlib.avail_in > 0 || (zlib.avail_out == 0 && rc != Z_STREAM_END));
    return absl::OkStatus();
  };
  PS_RETURN_IF_ERROR(ForEachPiece(file, offset, length, inflate_piece));
  return rc == Z_STREAM_END && made == most ? absl::OkStatus() : damaged;
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(std::shared_ptr<const RandomAccessFile> file,
                                                       const ZipMember& member, const std::string& name,
                                                       const std::string& scratch_folder) {
  if ((member.flags & kEncrypted) != 0) return absl::InvalidArgumentError("it is encrypted; save it without");
  if (member.method != kStored && member.method != kDeflated) {
    return absl::InvalidArgumentError(absl::StrCat("it is compressed by method ", member.method,
                                                   "; numpy.savez and numpy.savez_compressed write what is read"));
  }
  PS_ASSIGN_OR_RETURN(FileInfo info, file->Info());
  if (member.header_offset > info.size || info.size - member.header_offset < kLocalBytes) return NoZip();
  PS_ASSIGN_OR_RETURN(const std::string local, ReadPiece(*file, member.header_offset, kLocalBytes));
  if (local.compare(0, 4, "PK\x03\x04") != 0) return NoZip();
  const uint64_t begin = member.header_offset + kLocalBytes + At<uint16_t>(local, 26) + At<uint16_t>(local, 28);
  if (begin > info.size || member.packed_bytes > info.size - begin) return NoZip();
  info.size = member.bytes;

  uLong crc = crc32(0, nullptr, 0);
  const auto check = [&](std::string_view bytes) {
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  };
  std::unique_ptr<RandomAccessFile> out;
  if (member.method == kStored) {
    if (member.packed_bytes != member.bytes) return absl::DataLossError("its two sizes differ");
    const TakePiece check_piece = [&](std::string_view bytes) {
      check(bytes);
      return absl::OkStatus();
    };
    PS_RETURN_IF_ERROR(ForEachPiece(*file, begin, member.bytes, check_piece));
    out = NewPartOfFile(file, begin, info, name);
  } else {
    PS_ASSIGN_OR_RETURN(const auto scratch, ScratchFile::Create(scratch_folder));
    const TakePiece keep_piece = [&](std::string_view bytes) {
      check(bytes);
      return scratch->Append(bytes);
    };
    PS_RETURN_IF_ERROR(InflateAll(*file, begin, member.packed_bytes, member.bytes, keep_piece));
    out = NewPartOfFile(scratch->file(), 0, info, name);
  }
  if (crc != member.crc) return absl::DataLossError("its checksum is wrong: the archive is damaged");
  return out;
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ListZip(const RandomAccessFile& file) {
  PS_ASSIGN_OR_RETURN(const FileInfo info, file.Info());
  PS_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(file, info.size));
  PS_ASSIGN_OR_RETURN(const std::string bytes, ReadPiece(file, directory.offset, directory.bytes));
  std::vector<ZipMember> members;
  std::string_view left = bytes;
  while (left.size() >= kCentralBytes && left.substr(0, 4) == "PK\x01\x02") {
    ZipMember member;
    member.flags = At<uint16_t>(left, 8);
    member.method = At<uint16_t>(left, 10);
    member.crc = At<uint32_t>(left, 16);
    member.packed_bytes = At<uint32_t>(left, 20);
    member.bytes = At<uint32_t>(left, 24);
    member.header_offset = At<uint32_t>(left, 42);
    const size_t name = At<uint16_t>(left, 28), extra = At<uint16_t>(left, 30), comment = At<uint16_t>(left, 32);
    if (left.size() - kCentralBytes < name + extra + comment) return NoZip();
    member.name = std::string(left.substr(kCentralBytes, name));
    if (!TakeZip64(left.substr(kCentralBytes + name, extra), &member)) return NoZip();
    members.push_back(std::move(member));
    left.remove_prefix(kCentralBytes + name + extra + comment);
  }
  if (!left.empty()) return NoZip();
  return members;
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenZipMember(std::shared_ptr<const RandomAccessFile> file,
                                                                const ZipMember& member, const std::string& name,
                                                                const std::string& scratch) {
  auto opened = Open(std::move(file), member, name, scratch);
  if (opened.ok()) return opened;
  return absl::Status(opened.status().code(), absl::StrCat(name, ": ", opened.status().message()));
}

}  // namespace penstock::imports
