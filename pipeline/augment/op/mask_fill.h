// The class for pixels from outside a mask: the field `mask_fill` of the annotations and of ops.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OP_MASK_FILL_H_
#define PENSTOCK_PIPELINE_AUGMENT_OP_MASK_FILL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "pipeline/augment/value/own_op_names.h"
#include "pipeline/batch/dtype.h"

namespace penstock {

// Returns the class for each of the masks, whose element types are `masks`. The field holds one class for all or one
// per mask. Returns an empty vector for an empty field. On a mistake, returns an empty vector and sets *mistake to the
// message.
std::vector<uint16_t> ReadMaskFill(const google::protobuf::RepeatedField<uint32_t>& field,
                                   const std::vector<DType>& masks, std::string* mistake);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OP_MASK_FILL_H_
