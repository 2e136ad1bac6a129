// The parts of records that hold some features, for containers that store features apart.
#ifndef PENSTOCK_PIPELINE_SELECTION_SAMPLE_FEATURES_H_
#define PENSTOCK_PIPELINE_SELECTION_SAMPLE_FEATURES_H_

#include <memory>
#include <string>
#include <vector>

#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::selection {

// Returns the request for the features with these keys, or null if records are read whole: the container does not
// store features apart, or there are no keys. Ignores mistakes in the keys.
std::shared_ptr<const sources::RequestedFeatures> FeaturesOf(sources::ContainerKind container,
                                                             const std::vector<std::string>& keys);

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_SAMPLE_FEATURES_H_
