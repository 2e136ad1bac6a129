// The features that a job reads, for containers that store the features of a record apart.
#ifndef PENSTOCK_PIPELINE_SOURCES_REQUESTED_FEATURES_H_
#define PENSTOCK_PIPELINE_SOURCES_REQUESTED_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::sources {

// Immutable, thread-safe. Two objects with the same requests in different orders are equal.
class RequestedFeatures {
 public:
  struct Member {
    std::string extension;
    // If true, a record with this member needs none of the later ones. It is false for a field of a JSON text, because
    // the text may lack the field.
    bool is_enough = true;

    auto operator<=>(const Member&) const = default;
  };
  // The members that may hold a feature, the preferred one first.
  using Request = std::vector<Member>;

  // Ignores empty requests. If no request is left, a job reads only the keys of the records.
  explicit RequestedFeatures(std::vector<Request> requests);

  const std::vector<Request>& requests() const { return requests_; }
  // Returns a hash that is the same in every release.
  uint64_t Hash() const;

  bool operator==(const RequestedFeatures&) const = default;

 private:
  std::vector<Request> requests_;  // sorted, each once, none empty
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_REQUESTED_FEATURES_H_
