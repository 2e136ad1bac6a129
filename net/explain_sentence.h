// The sentence that names what limits a job. `penstock explain` and the web page begin with it.
#ifndef PENSTOCK_NET_EXPLAIN_SENTENCE_H_
#define PENSTOCK_NET_EXPLAIN_SENTENCE_H_

#include <string>

#include "penstock/v1/explain.pb.h"

namespace penstock::net {

// Returns for example "job train: the limit is the CPU of worker gpu7".
std::string ExplainSentence(const v1::Explanation& explanation);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_EXPLAIN_SENTENCE_H_
