// Content of new shards: numbered items, each of which becomes one record.
#ifndef PENSTOCK_PIPELINE_IMPORT_RECORD_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_RECORD_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::imports {

// What the import did to an item's image.
enum class ImageTreatment : uint8_t {
  kKept,            // the same bytes, or no image at all
  kRestartIndexed,  // the same coefficients, with restart markers and their table
  kReencoded,       // other pixels: resized or compressed again
};
constexpr int kImageTreatments = 3;

struct MadeRecord {
  std::string bytes;  // a serialized tf.train.Example, or the bytes of an existing record
  ImageTreatment treatment = ImageTreatment::kKept;
};

// Makes records on one thread. May hold open files, decoders and buffers.
class RecordMaker {
 public:
  virtual ~RecordMaker() = default;
  // Makes the record of `item` in *out (replaced). The bytes are the same for every call and maker. Errors name the
  // item (its file, its record). An error for which IsBadItem() is true is the item's own fault. Every other error is
  // the machine's or the job's, and ends the run.
  virtual absl::Status Make(uint64_t item, MadeRecord* out) = 0;
};

// Immutable and thread-safe. Must outlive its makers.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual uint64_t size() const = 0;
  // Changes if the items, their order or their content change.
  virtual uint64_t fingerprint() const = 0;
  virtual std::unique_ptr<RecordMaker> NewMaker() const = 0;

  // Returns how many items to announce before they are made; 0: none, as for local files.
  virtual size_t ahead() const { return 0; }
  // Announces that `item` will be made, or is being made. Called only if ahead() is not 0, once per item, approximately
  // in the order of use. Does not block.
  virtual void WillMake(uint64_t item) const {}
};

// Returns whether the item can be left out while the run continues: InvalidArgument, DataLoss, NotFound,
// PermissionDenied.
inline bool IsBadItem(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status);
}

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_RECORD_SOURCE_H_
