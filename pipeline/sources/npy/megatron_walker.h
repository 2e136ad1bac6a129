// The walk over Megatron-LM's tokens: a .bin file, with the .idx file beside it.
#ifndef PENSTOCK_PIPELINE_SOURCES_NPY_MEGATRON_WALKER_H_
#define PENSTOCK_PIPELINE_SOURCES_NPY_MEGATRON_WALKER_H_

#include <memory>

#include "pipeline/sources/record_walker.h"

namespace penstock::sources {

// A record is a sequence: its data are a .npy file of these numbers (npy_container.h), of any length. The walk reads
// the index once, before the first record, through input.options.files; without it, the walk fails.
std::unique_ptr<RecordWalker> WalkMegatron(RecordWalker::Input input);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_NPY_MEGATRON_WALKER_H_
