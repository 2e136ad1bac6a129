// What `penstock pack` is told on its standard input: a run of frames, each [u32 length][u32 type][body of that
// length], little-endian. docs/import.md is the page for those who write them.
#ifndef PENSTOCK_PIPELINE_PACK_PACK_INPUT_H_
#define PENSTOCK_PIPELINE_PACK_PACK_INPUT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

struct PackFrame {
  enum class Type : uint32_t {
    kRecord = 1,    // a serialized tf.train.Example, kept as it is
    kFeatures = 2,  // features, of which an Example is made (packed_features.h)
    kEnd = 3,       // all is said; the body lists the parts that there must be, u32 each
    kGiveUp = 4,    // nothing that came is to be kept
  };
  Type type = Type::kEnd;
  std::string_view body;
};

// Not thread-safe.
class PackInput {
 public:
  static constexpr uint32_t kMaxFrameBytes = uint32_t{1} << 30;

  // `read` fills up to `most` bytes and returns how many; 0 is the end.
  using Read = std::function<absl::StatusOr<size_t>(char* out, size_t most)>;
  explicit PackInput(Read read) : read_(std::move(read)) {}

  // The next frame; its body is valid until the next call.
  //   Cancelled        the input ended without kEnd, or with kGiveUp: whoever wrote it has died or given up
  //   InvalidArgument  no frame; a frame larger than kMaxFrameBytes
  absl::StatusOr<PackFrame> Next();

 private:
  // Makes sure that `bytes` lie at begin_. False: the input ends before the first of them.
  absl::StatusOr<bool> Fill(size_t bytes);

  const Read read_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t frames_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PACK_PACK_INPUT_H_
