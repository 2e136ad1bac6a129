#include "pipeline/selection/sample_features.h"

#include <algorithm>
#include <utility>

#include "pipeline/records/sample_parser.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/manifest/manifest_container.h"

namespace penstock::selection {

std::shared_ptr<const sources::RequestedFeatures> FeaturesOf(sources::ContainerKind container,
                                                             const std::vector<std::string>& keys) {
  if (!sources::Container::Of(container).StoresFeaturesApart() || keys.empty()) return nullptr;
  std::vector<sources::RequestedFeatures::Request> requests;
  if (sources::NamesFiles(container)) {
    const bool file = std::find(keys.begin(), keys.end(), sources::kFileFeature) != keys.end();
    if (file) requests.push_back({{.extension = std::string(sources::kFileFeature)}});
    return std::make_shared<const sources::RequestedFeatures>(std::move(requests));
  }
  for (const std::string& key : keys) {
    sources::RequestedFeatures::Request& request = requests.emplace_back();
    for (records::SampleKeyPart& part : records::SplitSampleKey(key)) {
      const bool is_enough = !records::IsJsonExtension(part.extension);
      request.push_back({std::move(part.extension), is_enough});
    }
  }
  return std::make_shared<const sources::RequestedFeatures>(std::move(requests));
}

}  // namespace penstock::selection
