#include "pipeline/sources/inflate_stream.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace penstock::sources {
namespace {

constexpr size_t kInputBytes = 64 << 10;
constexpr size_t kWindowBytes = 32 << 10;
constexpr int kRaw = -MAX_WBITS;

int ContainerBits(Compression compression) { return compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS; }

std::string DeflateWindow(const unsigned char* window, size_t size) {
  uLongf length = compressBound(size);
  std::string out(length, '\0');
  // The fastest level: windows of images barely compress, and those of text compress at any level.
  const int rc = compress2(reinterpret_cast<Bytef*>(out.data()), &length, window, size, 1);
  PS_CHECK(rc == Z_OK);
  out.resize(length);
  out.shrink_to_fit();
  return out;
}

}  // namespace

void RestartRecorder::Add(RestartPoint point) {
  window_bytes_ += point.window.size();
  points_.push_back(std::move(point));
  // Drops every second point but keeps the first. The remaining points are at least about the doubled spacing apart.
  while (window_bytes_ > max_window_bytes_ && points_.size() > 2) {
    spacing_ *= 2;
    window_bytes_ = 0;
    size_t kept = 0;
    for (size_t i = 0; i < points_.size(); i += 2) {
      if (kept != i) points_[kept] = std::move(points_[i]);
      window_bytes_ += points_[kept].window.size();
      ++kept;
    }
    points_.resize(kept);
  }
}

InflateStream::InflateStream(const RandomAccessFile* file, Compression compression, RestartRecorder* recorder)
    : file_(file), compression_(compression), recorder_(recorder), input_(kInputBytes) {}

InflateStream::~InflateStream() {
  if (initialized_) inflateEnd(&zlib_);
}

absl::Status InflateStream::Init(int window_bits) {
  if (inflateInit2(&zlib_, window_bits) != Z_OK) {
    return absl::ResourceExhaustedError(absl::StrCat(file_->path(), ": no memory to inflate it"));
  }
  initialized_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<InflateStream>> InflateStream::Start(const RandomAccessFile* file,
                                                                    Compression compression,
                                                                    RestartRecorder* recorder) {
  PS_CHECK(compression == Compression::kGzip || compression == Compression::kZlib);
  std::unique_ptr<InflateStream> stream(new InflateStream(file, compression, recorder));
  PS_RETURN_IF_ERROR(stream->Init(ContainerBits(compression)));
  return stream;
}

absl::StatusOr<std::unique_ptr<InflateStream>> InflateStream::Resume(const RandomAccessFile* file,
                                                                     Compression compression,
                                                                     const RestartPoint& point) {
  PS_CHECK(compression == Compression::kGzip || compression == Compression::kZlib);
  std::unique_ptr<InflateStream> stream(new InflateStream(file, compression, nullptr));
  stream->position_ = point.stream_offset;
  stream->input_end_ = point.file_offset;
  if (point.stream_start) {
    PS_RETURN_IF_ERROR(stream->Init(ContainerBits(compression)));
    return stream;
  }
  PS_RETURN_IF_ERROR(stream->Init(kRaw));
  stream->raw_ = stream->in_member_ = stream->any_member_ = true;
  if (point.bits > 0) {
    char byte = 0;
    PS_ASSIGN_OR_RETURN(const size_t n, file->ReadAt(point.file_offset - 1, 1, &byte));
    if (n != 1) return stream->Broken(Damage::kTruncated, "the file ends before a restart point");
    inflatePrime(&stream->zlib_, point.bits, static_cast<unsigned char>(byte) >> (8 - point.bits));
  }
  std::array<unsigned char, kWindowBytes> window;
  uLongf length = window.size();
  if (uncompress(window.data(), &length, reinterpret_cast<const Bytef*>(point.window.data()), point.window.size()) !=
      Z_OK) {
    return absl::DataLossError(
        absl::StrCat(file->path(), ": its index is damaged: the window at ", point.stream_offset, " does not inflate"));
  }
  if (inflateSetDictionary(&stream->zlib_, window.data(), static_cast<uInt>(length)) != Z_OK) {
    return absl::DataLossError(
        absl::StrCat(file->path(), ": its index is damaged: the window at ", point.stream_offset, " is refused"));
  }
  return stream;
}

absl::Status InflateStream::Broken(Damage damage, std::string_view what) {
  damage_ = damage;
  broken_ = absl::DataLossError(absl::StrCat(file_->path(), ": ", compression_ == Compression::kGzip ? "gzip" : "zlib",
                                             " data at file offset ", file_position(), ": ",
                                             absl::string_view(what.data(), what.size())));
  return broken_;
}

absl::Status InflateStream::FillInput() {
  if (zlib_.avail_in > 0) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(const size_t n, file_->ReadAt(input_end_, input_.size(), input_.data()));
  input_end_ += n;
  zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
  zlib_.avail_in = static_cast<uInt>(n);
  return absl::OkStatus();
}

absl::Status InflateStream::BeginMember() {
  PS_RETURN_IF_ERROR(FillInput());
  if (zlib_.avail_in == 0) {  // an empty file is an empty stream, as in TensorFlow
    done_ = true;
    return absl::OkStatus();
  }
  if (any_member_) {
    // Multi-member gzip is one stream (RFC 1952, 2.2). zlib has no equivalent.
    if (compression_ == Compression::kZlib || zlib_.next_in[0] != 0x1f) {
      return Broken(Damage::kTrailer, "other bytes follow the end of the compressed stream");
    }
    inflateReset2(&zlib_, ContainerBits(compression_));
  }
  raw_ = false;
  in_member_ = any_member_ = true;
  if (recorder_ != nullptr && recorder_->Wants(position_)) {
    recorder_->Add({.stream_offset = position_, .file_offset = file_position(), .stream_start = true});
  }
  return absl::OkStatus();
}

absl::Status InflateStream::SkipTrailer() {
  size_t left = compression_ == Compression::kGzip ? 8 : 4;
  while (left > 0) {
    PS_RETURN_IF_ERROR(FillInput());
    if (zlib_.avail_in == 0) return Broken(Damage::kTruncated, "the file ends inside the trailer");
    const uInt n = static_cast<uInt>(std::min<size_t>(left, zlib_.avail_in));
    zlib_.next_in += n;
    zlib_.avail_in -= n;
    left -= n;
  }
  return absl::OkStatus();
}

void InflateStream::RecordRestartPoint() {
  // Bit 7: at the end of a block; bit 6: the block was the last of its member.
  if ((zlib_.data_type & 128) == 0 || (zlib_.data_type & 64) != 0) return;
  if (!recorder_->Wants(position_)) return;
  std::array<unsigned char, kWindowBytes> window;
  uInt length = 0;
  if (inflateGetDictionary(&zlib_, window.data(), &length) != Z_OK) return;
  recorder_->Add({.stream_offset = position_,
                  .file_offset = file_position(),
                  .bits = static_cast<uint8_t>(zlib_.data_type & 7),
                  .stream_start = false,
                  .window = DeflateWindow(window.data(), length)});
}

absl::Status InflateStream::Inflate() {
  PS_RETURN_IF_ERROR(FillInput());
  const bool at_end = zlib_.avail_in == 0;
  const uInt room = zlib_.avail_out;
  const int rc = inflate(&zlib_, recorder_ != nullptr ? Z_BLOCK : Z_NO_FLUSH);
  const uInt made = room - zlib_.avail_out;
  position_ += made;
  switch (rc) {
    case Z_OK:
    case Z_BUF_ERROR:
      if (at_end && made == 0) {
        return Broken(Damage::kTruncated, "the file ends inside the compressed stream");
      }
      if (recorder_ != nullptr) RecordRestartPoint();
      return absl::OkStatus();
    case Z_STREAM_END:
      if (raw_) PS_RETURN_IF_ERROR(SkipTrailer());
      in_member_ = false;
      return absl::OkStatus();
    case Z_NEED_DICT:
      return Broken(Damage::kCorrupt, "it needs a preset dictionary, which TFRecord files never do");
    case Z_DATA_ERROR: {
      const std::string_view what = zlib_.msg != nullptr ? zlib_.msg : "damaged";
      const bool trailer = what == "incorrect data check" || what == "incorrect length check";
      return Broken(trailer ? Damage::kTrailer : Damage::kCorrupt, what);
    }
    case Z_MEM_ERROR:
      return absl::ResourceExhaustedError(absl::StrCat(file_->path(), ": no memory to inflate it"));
    default:
      return Broken(Damage::kCorrupt, zlib_.msg != nullptr ? zlib_.msg : "damaged");
  }
}

absl::StatusOr<size_t> InflateStream::Read(char* out, size_t length) {
  size_t done = 0;
  // Does not read the container's end before the next call, even after the last byte: a record counts as soon as its
  // bytes are available.
  while (done < length && !done_ && broken_.ok()) {
    if (!in_member_) {
      if (const absl::Status begun = BeginMember(); !begun.ok()) {
        if (broken_.ok()) return begun;
        break;
      }
      continue;
    }
    const uInt room = static_cast<uInt>(std::min<size_t>(length - done, 1u << 30));
    zlib_.next_out = reinterpret_cast<Bytef*>(out + done);
    zlib_.avail_out = room;
    const absl::Status inflated = Inflate();
    done += room - zlib_.avail_out;
    if (!inflated.ok() && broken_.ok()) return inflated;  // the file's error, which may be temporary
  }
  if (done == 0 && length > 0 && !broken_.ok()) return broken_;
  return done;
}

absl::StatusOr<uint64_t> InflateStream::Skip(uint64_t length) {
  char sink[16 << 10];
  uint64_t done = 0;
  while (done < length) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(length - done, sizeof(sink)));
    auto n = Read(sink, want);
    if (!n.ok()) {
      if (done > 0 && !broken_.ok()) return done;
      return n.status();
    }
    if (*n == 0) break;
    done += *n;
  }
  return done;
}

}  // namespace penstock::sources
