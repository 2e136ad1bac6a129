// The reference data of other programs, if PENSTOCK_REFERENCE_DATA names its folder.
#ifndef PENSTOCK_TESTS_PIPELINE_IMAGE_REFERENCE_H_
#define PENSTOCK_TESTS_PIPELINE_IMAGE_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

// Returns the folder, or nullopt.
std::optional<std::string> ReferenceFolder();

// Reads a JSON object from a file. Ends the process if the file is not one.
google::protobuf::Struct ReadJson(const std::string& path);

// Reads the whole file. Ends the process if it does not exist.
std::string ReadBytes(const std::string& path);

// Returns the sorted names of the files in a folder.
std::vector<std::string> ListFolder(const std::string& path);

// The pixels of a PNG file as RGB. Reading ends the process if the file is no PNG.
struct RgbImage {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
  ImageView view() const { return {rgb.data(), width, height, 3, static_cast<size_t>(width) * 3}; }
};
RgbImage ReadPng(const std::string& path);

// Returns SHA-256 in lower-case hexadecimal.
std::string Sha256(std::string_view bytes);
inline std::string Sha256(const std::vector<uint8_t>& bytes) {
  return Sha256(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace penstock::image

#endif  // PENSTOCK_TESTS_PIPELINE_IMAGE_REFERENCE_H_
