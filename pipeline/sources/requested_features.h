// The features of its records that a job reads, for containers that store them apart.
#ifndef PENSTOCK_PIPELINE_SOURCES_REQUESTED_FEATURES_H_
#define PENSTOCK_PIPELINE_SOURCES_REQUESTED_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::sources {

// Immutable, thread-safe. Equal for any order of the requests.
class RequestedFeatures {
 public:
  struct Member {
    std::string extension;
    // Whether a record with this member needs none of the later ones. A JSON text may lack the requested field.
    bool is_enough = true;

    auto operator<=>(const Member&) const = default;
  };
  // The members that may hold one value, the preferred one first.
  using Request = std::vector<Member>;

  // Without requests, or with empty ones, a record has only its key.
  explicit RequestedFeatures(std::vector<Request> requests);

  const std::vector<Request>& requests() const { return requests_; }
  // The same in every release.
  uint64_t Hash() const;

  bool operator==(const RequestedFeatures&) const = default;

 private:
  std::vector<Request> requests_;  // sorted, each once, none empty
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_REQUESTED_FEATURES_H_
