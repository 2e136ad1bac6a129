#include "tests/pipeline/image/reference.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/file.h"
#include "google/protobuf/util/json_util.h"
#include "pipeline/image/formats/decode_other.h"

namespace penstock::image {

std::optional<std::string> ReferenceFolder() {
  const char* folder = std::getenv("PENSTOCK_REFERENCE_DATA");
  if (folder == nullptr || *folder == 0) return std::nullopt;
  return folder;
}

std::string ReadBytes(const std::string& path) {
  auto bytes = ReadWholeFile(path);
  PS_CHECK(bytes.ok());
  return *std::move(bytes);
}

RgbImage ReadPng(const std::string& path) {
  const std::string bytes = ReadBytes(path);
  const auto header = ProbeImage(bytes);
  PS_CHECK(header.ok());
  RgbImage image{header->width, header->height, {}};
  const size_t stride = static_cast<size_t>(image.width) * 3;
  image.rgb.resize(stride * static_cast<size_t>(image.height));
  PS_CHECK(DecodeOther(bytes, *header, 3, image.rgb.data(), stride).ok());
  return image;
}

google::protobuf::Struct ReadJson(const std::string& path) {
  google::protobuf::Struct json;
  PS_CHECK(google::protobuf::util::JsonStringToMessage(ReadBytes(path), &json).ok());
  return json;
}

std::vector<std::string> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  PS_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) == 1);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace penstock::image
