// The reference for the loader: a minimal hand-written loop that makes the same crops of the same JPEGs, with as many
// threads. It decodes with JpegDecoder, as the loader does. Records are in memory. The loop has no order, budget,
// batches or error handling.
#ifndef PENSTOCK_BENCH_PLAIN_LOOP_H_
#define PENSTOCK_BENCH_PLAIN_LOOP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::bench {

// Crops, resizes (cv::resize INTER_LINEAR) and flips every JPEG once, with the draws of the job { decode_image,
// random_resized_crop, random_horizontal_flip } in epoch `epoch`. With `sum_up`, returns the sum of SumOfRow() over all
// rows, to compare with the loader's rows. Otherwise returns 0.
uint64_t RunPlainLoop(const std::vector<std::string>& jpegs, const v1::JobSpec& job, uint64_t epoch, int threads,
                      bool sum_up);

// Returns a checksum of one row's pixels. It covers whole words of 8 bytes.
uint64_t SumOfRow(const uint8_t* pixels, size_t bytes);

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_PLAIN_LOOP_H_
