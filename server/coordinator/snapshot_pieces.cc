#include "server/coordinator/snapshot_pieces.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"

namespace penstock::coordinator {
namespace {

// Bytes of a part. Zstandard adds at most a 256th and some header.
constexpr size_t kPartBytes = 1'000'000;
static_assert(ZSTD_COMPRESSBOUND(kPartBytes) <= SnapshotPiece::kMostBytes);
constexpr int kLevel = 3;

std::string NameOf(std::string_view part) {
  return absl::StrCat(absl::Hex(Hash64(part, 1), absl::kZeroPad16), absl::Hex(Hash64(part, 2), absl::kZeroPad16));
}

}  // namespace

std::vector<SnapshotPiece> CutIntoPieces(std::string_view wire) {
  std::vector<SnapshotPiece> pieces;
  for (size_t begin = 0; begin < wire.size(); begin += kPartBytes) {
    const std::string_view part = wire.substr(begin, kPartBytes);
    SnapshotPiece& piece = pieces.emplace_back();
    piece.name = NameOf(part);
    piece.data.resize(ZSTD_compressBound(part.size()));
    const size_t bytes = ZSTD_compress(piece.data.data(), piece.data.size(), part.data(), part.size(), kLevel);
    PS_CHECK(ZSTD_isError(bytes) == 0);
    piece.data.resize(bytes);
    piece.data.shrink_to_fit();
  }
  return pieces;
}

absl::StatusOr<std::string> JoinPieces(const std::vector<std::string>& names,
                                       absl::FunctionRef<const std::string*(const std::string& name)> find) {
  std::string wire, part;
  for (const std::string& name : names) {
    const std::string* const data = find(name);
    if (data == nullptr) return absl::DataLossError(absl::StrCat("the snapshot's piece ", name, " is missing"));
    part.resize(kPartBytes);
    const size_t bytes = ZSTD_decompress(part.data(), part.size(), data->data(), data->size());
    if (ZSTD_isError(bytes) == 0) part.resize(bytes);
    if (ZSTD_isError(bytes) != 0 || NameOf(part) != name) {
      return absl::DataLossError(absl::StrCat("the snapshot's piece ", name, " is damaged"));
    }
    wire += part;
  }
  return wire;
}

}  // namespace penstock::coordinator
