// The rows that a session has requested so far.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_REQUESTED_SPAN_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_REQUESTED_SPAN_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>

#include "pipeline/loader/row_request.h"

namespace penstock::loader {

struct RequestedSpan {
  struct Place {
    uint64_t epoch = 0, position = 0;
    auto operator<=>(const Place&) const = default;
  };
  Place first, furthest;
  // The furthest row that was parked to fetch its record, alone or in a range in flight.
  std::optional<Place> alone;
  uint64_t rows = 0;

  void Add(std::span<const RowRequest> more) {
    for (const RowRequest& row : more) {
      const Place place{row.epoch, row.position};
      if (rows++ == 0) first = furthest = place;
      furthest = std::max(furthest, place);
    }
  }
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_REQUESTED_SPAN_H_
