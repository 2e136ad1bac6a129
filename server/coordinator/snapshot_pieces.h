// A snapshot's shards in compressed pieces, named by their content. A store keeps each piece once, and jobs name
// theirs.
#ifndef PENSTOCK_SERVER_COORDINATOR_SNAPSHOT_PIECES_H_
#define PENSTOCK_SERVER_COORDINATOR_SNAPSHOT_PIECES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace penstock::coordinator {

// A part of the shards in wire format, as one Zstandard frame.
struct SnapshotPiece {
  static constexpr size_t kMostBytes = size_t{1} << 20;  // limit of `data`

  std::string name;  // 128-bit hash of the part before compression, in hex
  std::string data;
};

// Cuts the wire format of a v1::Snapshot that has only shards. Equal bytes give equal pieces. Thread-safe.
std::vector<SnapshotPiece> CutIntoPieces(std::string_view wire);

// Returns the wire format of the pieces with these names. `find` returns the data of a piece, or null if there is none.
// Returns DataLoss if a piece is missing, or its content does not match its name. The error names the piece.
absl::StatusOr<std::string> JoinPieces(const std::vector<std::string>& names,
                                       absl::FunctionRef<const std::string*(const std::string& name)> find);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SNAPSHOT_PIECES_H_
