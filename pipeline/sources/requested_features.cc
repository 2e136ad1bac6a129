#include "pipeline/sources/requested_features.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hash.h"

namespace penstock::sources {

RequestedFeatures::RequestedFeatures(std::vector<Request> requests) : requests_(std::move(requests)) {
  std::erase_if(requests_, [](const Request& request) { return request.empty(); });
  std::sort(requests_.begin(), requests_.end());
  requests_.erase(std::unique(requests_.begin(), requests_.end()), requests_.end());
}

uint64_t RequestedFeatures::Hash() const {
  Fingerprint print;
  print.Add(std::string_view("penstock requested features 1")).Add(requests_.size());
  for (const Request& request : requests_) {
    print.Add(request.size());
    for (const Member& member : request) print.Add(std::string_view(member.extension)).Add(member.is_enough ? 1 : 0);
  }
  return print.value();
}

}  // namespace penstock::sources
