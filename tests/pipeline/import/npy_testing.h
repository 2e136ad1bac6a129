// Arrays and archives of arrays, byte by byte.
#ifndef PENSTOCK_TESTS_PIPELINE_IMPORT_NPY_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_IMPORT_NPY_TESTING_H_

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::imports {

// A .npy file of version 1.0 as numpy.save writes it.
inline std::string Npy(const std::string& descr, const std::string& shape, const std::string& data,
                       bool fortran = false) {
  std::string dict = absl::StrCat("{'descr': ", descr[0] == '[' ? descr : absl::StrCat("'", descr, "'"),
                                  ", 'fortran_order': ", fortran ? "True" : "False", ", 'shape': (", shape, "), }");
  dict.resize((dict.size() + 10 + 64) / 64 * 64 - 11, ' ');
  dict += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict + data;
}

inline std::string Bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7);
  return bytes;
}

// An archive as Python's zipfile writes it, with the faults that a test asks for.
class ZipMaker {
 public:
  struct Options {
    bool deflate = false;
    bool zip64 = false;  // as numpy.savez does: sizes in the extra fields
    uint16_t method = 0, flags = 0;
    uint32_t crc_xor = 0;
  };

  void Add(const std::string& name, const std::string& content, const Options& options) {
    std::string data = content;
    if (options.deflate) data = Deflated(content);
    const uint16_t method = options.method != 0 ? options.method : options.deflate ? 8 : 0;
    const auto crc = static_cast<uint32_t>(
                         crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()))) ^
                     options.crc_xor;
    const uint64_t offset = out_.size();
    const std::string common =
        absl::StrCat(Number(45, 2), Number(options.flags, 2), Number(method, 2), Number(0, 4), Number(crc, 4));
    const std::string sizes = options.zip64 ? Number(~uint64_t{0}, 4) + Number(~uint64_t{0}, 4)
                                            : Number(data.size(), 4) + Number(content.size(), 4);
    const std::string extra =
        options.zip64 ? absl::StrCat(Number(1, 2), Number(16, 2), Number(content.size(), 8), Number(data.size(), 8))
                      : "";
    absl::StrAppend(&out_, "PK\x03\x04", common, sizes, Number(name.size(), 2), Number(extra.size(), 2), name, extra,
                    data);
    absl::StrAppend(&directory_, "PK\x01\x02", Number(45, 2), common, sizes, Number(name.size(), 2),
                    Number(extra.size(), 2), Number(0, 2), Number(0, 2), Number(0, 2), Number(0, 4), Number(offset, 4),
                    name, extra);
    ++members_;
  }
  void Add(const std::string& name, const std::string& content) { Add(name, content, Options()); }

  std::string Bytes() const {
    return absl::StrCat(out_, directory_, "PK\x05\x06", Number(0, 4), Number(members_, 2), Number(members_, 2),
                        Number(directory_.size(), 4), Number(out_.size(), 4), Number(0, 2));
  }

 private:
  static std::string Number(uint64_t value, size_t bytes) {
    std::string out;
    for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
    return out;
  }
  static std::string Deflated(const std::string& content) {
    z_stream z = {};
    deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&z, content.size()), '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    z.avail_in = static_cast<uInt>(content.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
  }

  std::string out_, directory_;
  uint64_t members_ = 0;
};

}  // namespace penstock::imports

#endif  // PENSTOCK_TESTS_PIPELINE_IMPORT_NPY_TESTING_H_
