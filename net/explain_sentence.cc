#include "net/explain_sentence.h"

#include "absl/strings/str_cat.h"

namespace penstock::net {
namespace {

// Returns true if the headline is a noun instead of a sentence.
bool IsThing(v1::Explanation::Limit limit) {
  return limit != v1::Explanation::LIMIT_UNKNOWN && limit != v1::Explanation::NO_WORKER &&
         limit != v1::Explanation::WINDOW;
}

}  // namespace

std::string ExplainSentence(const v1::Explanation& explanation) {
  return absl::StrCat("job ", explanation.job(), ": ", IsThing(explanation.limit()) ? "the limit is " : "",
                      explanation.headline());
}

}  // namespace penstock::net
