// What is written into new shards: numbered items, each of which becomes one record.
#ifndef PENSTOCK_PIPELINE_IMPORT_RECORD_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_RECORD_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// What became of an item's image.
enum class ImageTreatment : uint8_t {
  kKept,            // its very bytes, or no image at all
  kRestartIndexed,  // the same coefficients with restart markers and their table
  kReencoded,       // other pixels: resized, or compressed anew
};
constexpr int kImageTreatments = 3;

struct MadeRecord {
  std::string bytes;  // a serialized tf.train.Example
  ImageTreatment treatment = ImageTreatment::kKept;
};

// One thread's way of making records: it may hold open files, decoders and buffers.
class RecordMaker {
 public:
  virtual ~RecordMaker() = default;
  // Makes the record of `item` in *out (replaced). The same bytes whenever and wherever it is called. Errors name the
  // item (its file, its record). Those for which IsBadItem holds are the item's own fault; every other one is the
  // machine's or the job's and ends the run.
  virtual absl::Status Make(uint64_t item, MadeRecord* out) = 0;
};

// Immutable, thread-safe; must outlive its makers.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual uint64_t size() const = 0;
  // Changes when the items, their order or their content change.
  virtual uint64_t fingerprint() const = 0;
  virtual std::unique_ptr<RecordMaker> NewMaker() const = 0;

  // Of storage that is far away: so many items are worth announcing before they are made.
  virtual size_t ahead() const { return 0; }
  // `item` will be made; announced once, in the order in which items will be wanted, or nearly. Does not wait.
  virtual void WillMake(uint64_t item) const {}
};

// Whether the item can be left out and the run go on: InvalidArgument, DataLoss, NotFound, PermissionDenied.
inline bool IsBadItem(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status);
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_RECORD_SOURCE_H_
