// The standard input of `penstock pack`: a sequence of frames, each [u32 length][u32 type][body of that length],
// little-endian. docs/import.md documents it for authors of such programs.
#ifndef PENSTOCK_PIPELINE_PACK_PACK_INPUT_H_
#define PENSTOCK_PIPELINE_PACK_PACK_INPUT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::pack {

struct PackFrame {
  enum class Type : uint32_t {
    kRecord = 1,    // a serialized tf.train.Example, kept unchanged
    kFeatures = 2,  // features from which an Example is made (packed_features.h)
    kEnd = 3,       // end of the input; the body lists the expected parts, u32 each
    kGiveUp = 4,    // discard everything received; Next() returns Cancelled in its place
    kCast = 5,      // type of a column in the job: u8 penstock.v1.DataType, then the key of the feature
  };
  Type type = Type::kEnd;
  std::string_view body;
};

// Reads frames. Not thread-safe.
class PackInput {
 public:
  static constexpr uint32_t kMaxFrameBytes = uint32_t{1} << 30;

  // Writes at most `most` bytes to `out` and returns their number; 0 is the end.
  using Read = std::function<absl::StatusOr<size_t>(char* out, size_t most)>;
  explicit PackInput(Read read) : read_(std::move(read)) {}

  // Returns the next frame. Its body is valid until the next call. Errors are those of `read` and:
  //   Cancelled        the input ended without kEnd, or has kGiveUp: its writer died or stopped
  //   InvalidArgument  not a frame, or a body larger than kMaxFrameBytes
  absl::StatusOr<PackFrame> Next();

 private:
  // Ensures that `bytes` bytes are available at begin_. If the input ends first, returns false if it has none of them,
  // otherwise Cancelled.
  absl::StatusOr<bool> Fill(size_t bytes);

  const Read read_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t frames_ = 0;
};

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_PACK_INPUT_H_
