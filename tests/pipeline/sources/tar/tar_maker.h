// Tar archives, block by block.
#ifndef PENSTOCK_TESTS_PIPELINE_SOURCES_TAR_TAR_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_SOURCES_TAR_TAR_MAKER_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace penstock::sources {

// Writes the sum of all bytes into a header.
inline void RepairTarChecksum(std::string* block) {
  std::fill_n(block->begin() + 148, 8, ' ');
  uint64_t sum = 0;
  for (const char c : *block) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof(digits), "%06o", static_cast<unsigned>(sum));
  block->replace(148, 7, digits, 7);
}

// A ustar header. `name` has at most 100 bytes.
inline std::string TarHeader(std::string_view name, uint64_t size, char type = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%011llo", static_cast<unsigned long long>(size));
  block.replace(124, 12, digits, 12);
  block[156] = type;
  block.replace(257, 8, std::string_view("ustar\00000", 8));
  RepairTarChecksum(&block);
  return block;
}

inline std::string TarPadded(std::string_view data) {
  std::string out(data);
  out.resize((data.size() + 511) / 512 * 512);
  return out;
}

// Appends a member. Names over 100 bytes get a block of GNU tar.
inline void AppendTarMember(std::string_view name, std::string_view data, std::string* archive, char type = '0') {
  if (name.size() > 100) {
    const std::string long_name = absl::StrCat(std::string(name), std::string(1, '\0'));
    absl::StrAppend(archive, TarHeader("././@LongLink", long_name.size(), 'L'), TarPadded(long_name));
  }
  absl::StrAppend(archive, TarHeader(name.substr(0, 100), data.size(), type), TarPadded(data));
}

// One record of a pax header, of 10 to 99 bytes.
inline std::string PaxRecord(std::string_view key, std::string_view value) {
  return absl::StrCat(key.size() + value.size() + 5, " ", std::string(key), "=", std::string(value), "\n");
}

// A pax header with its data. `type` is 'g' for a global one.
inline std::string PaxHeader(std::string_view records, char type = 'x') {
  return TarHeader("PaxHeaders/x", records.size(), type) + TarPadded(records);
}

// Returns an archive that make_archives.py wrote.
inline std::string RecordedTar(const std::string& name) {
  std::ifstream file("tests/pipeline/sources/tar/archives/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace penstock::sources

#endif  // PENSTOCK_TESTS_PIPELINE_SOURCES_TAR_TAR_MAKER_H_
