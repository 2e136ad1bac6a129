// The decompressed stream of a GZIP or ZLIB shard, from its start or from a restart point. Internal to sources/. In
// this folder, only inflate_stream.*, shard_kind.cc and tfrecord/tfrecord_writer.cc include zlib.
#ifndef PENSTOCK_PIPELINE_SOURCES_INFLATE_STREAM_H_
#define PENSTOCK_PIPELINE_SOURCES_INFLATE_STREAM_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/sources/byte_source.h"
#include "pipeline/sources/compression.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// Collects restart points while a stream is inflated from its start.
class RestartRecorder {
 public:
  // See IndexOptions.
  RestartRecorder(uint64_t spacing, uint64_t max_window_bytes)
      : spacing_(spacing > 0 ? spacing : 1), max_window_bytes_(max_window_bytes) {}

  bool Wants(uint64_t stream_offset) const {
    return points_.empty() || stream_offset - points_.back().stream_offset >= spacing_;
  }
  void Add(RestartPoint point);
  std::vector<RestartPoint> Take() { return std::move(points_); }

 private:
  uint64_t spacing_;
  const uint64_t max_window_bytes_;
  uint64_t window_bytes_ = 0;
  std::vector<RestartPoint> points_;
};

class InflateStream final : public ByteSource {
 public:
  enum class Damage : uint8_t {
    kNone,
    kCorrupt,    // not valid deflate data
    kTruncated,  // the file ends inside the compressed stream
    kTrailer,    // the stream's own checksum or length is wrong, or other bytes follow it
  };

  // Opens the stream at its start. `file` must outlive it. `recorder` may be null. `compression` is kGzip or kZlib.
  static absl::StatusOr<std::unique_ptr<InflateStream>> Start(const RandomAccessFile* file, Compression compression,
                                                              RestartRecorder* recorder);
  // Opens the stream at a restart point. Returns DataLoss if the file ends before the point, or its window is damaged.
  static absl::StatusOr<std::unique_ptr<InflateStream>> Resume(const RandomAccessFile* file, Compression compression,
                                                               const RestartPoint& point);
  ~InflateStream() override;
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  absl::StatusOr<size_t> Read(char* out, size_t length) override;
  absl::StatusOr<uint64_t> Skip(uint64_t length) override;
  uint64_t file_position() const override { return input_end_ - zlib_.avail_in; }

  // Returns the position in the decompressed stream.
  uint64_t position() const { return position_; }
  // Returns the kind of damage after Read or Skip returned DataLoss.
  Damage damage() const { return damage_; }

 private:
  InflateStream(const RandomAccessFile* file, Compression compression, RestartRecorder* recorder);

  absl::Status Init(int window_bits);
  // Makes zlib_.avail_in positive unless the file is at its end.
  absl::Status FillInput();
  // Between members: opens the next one, or sets done_.
  absl::Status BeginMember();
  // Skips the container's trailer after a raw stream, because zlib does not read it then.
  absl::Status SkipTrailer();
  absl::Status Broken(Damage damage, std::string_view what);
  void RecordRestartPoint();
  // Calls inflate once.
  absl::Status Inflate();

  const RandomAccessFile* const file_;
  const Compression compression_;
  RestartRecorder* const recorder_;
  z_stream zlib_ = {};
  bool initialized_ = false;
  bool raw_ = false;  // resumed inside a member: zlib reads neither header nor trailer
  bool in_member_ = false;
  bool any_member_ = false;
  bool done_ = false;
  Damage damage_ = Damage::kNone;
  absl::Status broken_;  // the first damage, returned by all later calls
  std::vector<char> input_;
  uint64_t input_end_ = 0;  // file offset after the bytes read
  uint64_t position_ = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_INFLATE_STREAM_H_
