// Checks the names and weights of a job's data sets, and its blend.
#ifndef PENSTOCK_CONFIG_BLEND_CHECK_H_
#define PENSTOCK_CONFIG_BLEND_CHECK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "config/text_file.h"
#include "penstock/v1/job.pb.h"

namespace penstock::config {

constexpr size_t kMaxNameLength = 128;
constexpr char kNameRule[] = "only letters, digits, '-', '_' and '.', at most 128";

// Returns whether a job or a data set may have this name.
bool IsName(const std::string& name);

// Adds the mistakes of `blend`, and of each data set's name, and weight or repeats.
void CheckBlend(const v1::JobSpec& job, std::vector<Mistake>* out);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_BLEND_CHECK_H_
