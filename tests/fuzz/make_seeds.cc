// Writes the seeds of the fuzz targets: small inputs of every kind that the parsers accept, made by our own writers and
// by the libraries that we read with. The job files' seeds are written by hand and stay.
// tests/pipeline/image/formats/make_pictures.py writes the images other than JPEG.
//   make_seeds tests/fuzz
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/npy_header.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/image/png/png_maker.h"
#include "tests/pipeline/import/npy_testing.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::fuzz {
namespace {

class Seeds {
 public:
  Seeds(const std::string& folder, const std::string& target) : folder_(folder + "/" + target + "/seeds/") {
    std::filesystem::create_directories(folder_);
  }
  std::string Path(const std::string& name) const { return folder_ + name; }
  void Write(const std::string& name, std::string_view bytes) const {
    PS_CHECK(WriteFileAtomically(Path(name), bytes).ok());
  }

 private:
  const std::string folder_;
};

std::string SmallExample(int64_t n) {
  const std::string_view strings[] = {"one", "", "three"};
  const int64_t ints[] = {n, -1, int64_t{1} << 40};
  const float floats[] = {0.5f, -1e30f};
  return records::ExampleBuilder()
      .BytesList("a", strings)
      .Int64List("b", ints)
      .FloatList("c", floats)
      .Int64("", n)
      .Unset("unset")
      .Bytes("other", "skipped")
      .Serialize();
}

std::string SmallSequence() {
  const std::string_view strings[] = {"ab", "cdef"};
  const int64_t ints[] = {1, 2, 3};
  const float floats[] = {1, 2};
  records::SequenceExampleBuilder builder;
  builder.context().Int64("b", 7).Bytes("a", "xy");
  return builder.List("a")
      .BytesEntry(strings)
      .BytesEntry({})
      .List("b")
      .Int64Entry(ints)
      .Int64Entry({})
      .List("c")
      .FloatEntry(floats)
      .Serialize();
}

// Single numbers, as writers before proto3 wrote them, a repeated key (the last one counts), and an unknown field.
std::string OddExample() {
  const auto field = [](int number, std::string_view bytes) {
    return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + std::string(bytes);
  };
  const std::string unpacked = field(3, std::string_view("\x08\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13));
  const std::string floats = field(2, std::string_view("\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\x40", 10));
  const std::string entries = field(1, field(1, "b") + field(2, unpacked)) +
                              field(1, field(1, "b") + field(2, unpacked)) + field(1, field(1, "c") + field(2, floats));
  return field(1, entries) + field(9, "what is this");
}

void WriteExamples(const std::string& folder) {
  const Seeds seeds(folder, "example");
  seeds.Write("example", SmallExample(3));
  seeds.Write("sequence", SmallSequence());
  seeds.Write("odd", OddExample());
  seeds.Write("empty", "");
}

// Writes an index to `out`, without the checksum, which the fuzz target appends.
void WriteBlob(const sources::ShardIndex& index, const std::string& out) {
  const std::string blob = index.Serialize();
  PS_CHECK(WriteFileAtomically(out, std::string_view(blob).substr(0, blob.size() - 8)).ok());
}

// Writes the index of the shard at `path` to `out`, and that of one of its records to `out`-selected, and
// that of three of them in groups to `out`-groups, one of packed rows to `out`-packed, and one of windows to
// `out`-windows.
void WriteIndex(const std::string& path, sources::Compression compression, const std::string& out,
                std::optional<sources::ContainerKind> container = std::nullopt,
                const sources::RowWindows& windows = {}) {
  const auto file = OpenFile(path);
  PS_CHECK(file.ok());
  auto index = sources::BuildShardIndex(
      **file, {.compression = compression, .container = container, .windows = windows, .restart_spacing = 64});
  PS_CHECK(index.ok());
  index->mtime_ns = 0;  // makes the same seed each time
  WriteBlob(*index, out);
  if (index->record_count() > 1) WriteBlob(index->Selected(std::vector<uint32_t>{1}), out + "-selected");
  if (index->record_count() <= 2) return;
  WriteBlob(index->Selected(std::vector<uint32_t>{0, 1, 2}, 0, {{"a", "b"}, {1, 0, 1}}), out + "-groups");
  WriteBlob(index->Selected(std::vector<uint32_t>{0, 2}).Packed({{{1, 0, 2}, {0, 3, 1}, {0, 4, 9}}, {2, 3}}),
            out + "-packed");
  plan::RecordWindows rows{.options = {.size = 2, .stride = 1, .step = 1}};
  rows.AddRun(0, index->record_count());
  WriteBlob(index->Windowed(std::make_shared<const plan::RecordWindows>(rows)), out + "-windows");
}

// Writes the index of a manifest with two files, a part of the second one, and a row without a file.
void WriteManifestIndex(const std::string& out) {
  sources::ShardIndex index({sources::Compression::kNone, sources::ContainerKind::kManifest});
  index.SetHead("csv\nfile\n");
  index.AppendGap(5);
  sources::FileTable files;
  for (const sources::FilePiece& piece :
       {sources::FilePiece{.path = "a.jpg", .size = 300, .mtime_s = 1, .length = 300},
        sources::FilePiece{.path = "s3://bucket/b", .size = 9, .tag = "\"tag\"", .offset = 2, .length = 7},
        sources::FilePiece{.path = "s3://bucket/b", .size = 9, .tag = "\"tag\"", .offset = 0, .length = 2},
        sources::FilePiece{.error = "no file"}}) {
    index.AppendRecord(6, std::vector<sources::RecordMember>{{.bytes = 6, .crc = 7}});
    PS_CHECK(files.Append(piece));
  }
  index.SetFiles(std::move(files));
  index.file_size = 29;
  WriteBlob(index, out);
  WriteBlob(index.Selected(std::vector<uint32_t>{1, 3}), out + "-selected");
}

void WriteShards(const std::string& folder) {
  const Seeds shards(folder, "shard"), indexes(folder, "index");
  const std::vector<std::string> few = {SmallExample(1), "", SmallExample(2), std::string(300, 'x')};
  for (const auto& [name, compression] : {std::pair{"plain", sources::Compression::kNone},
                                          {"gzip", sources::Compression::kGzip},
                                          {"zlib", sources::Compression::kZlib}}) {
    for (const bool empty : {false, true}) {
      const std::string path = shards.Path(empty ? std::string(name) + "-empty" : name);
      auto writer = sources::TFRecordWriter::Open(storage::LocalFiles(), path, {.compression = compression});
      PS_CHECK(writer.ok());
      for (const std::string& record : few) PS_CHECK(empty || (*writer)->Write(record).ok());
      PS_CHECK((*writer)->Close().ok());
      WriteIndex(path, compression, indexes.Path(empty ? std::string(name) + "-empty" : name));
    }
  }
  std::string tar;
  sources::AppendTarMember("train", "", &tar, '5');
  for (const std::string key : {"0001", "0002"}) {
    sources::AppendTarMember(key + ".jpg", "photograph", &tar);
    sources::AppendTarMember(key + ".cls", "7", &tar);
    sources::AppendTarMember("README", "no sample", &tar);
  }
  shards.Write("tar", tar);
  WriteIndex(shards.Path("tar"), sources::Compression::kNone, indexes.Path("tar"));
  shards.Write("jsonl", "\xEF\xBB\xBF{\"a\": 1}\r\n\n{\"a\": [2]}\n \t\n{}");
  WriteIndex(shards.Path("jsonl"), sources::Compression::kNone, indexes.Path("jsonl"));
  shards.Write("csv", "a,b\r\n1,\"x\ny\"\n\n2,\n3,\"\"\"\"\n");
  WriteIndex(shards.Path("csv"), sources::Compression::kNone, indexes.Path("csv"), sources::ContainerKind::kCsv);
  WriteManifestIndex(indexes.Path("manifest"));
  shards.Write("npy", NpyHeaderText("[('x', '<f4', (2,)), ('y', '|S3')]", {3}) + std::string(33, 'r'));
  WriteIndex(shards.Path("npy"), sources::Compression::kNone, indexes.Path("npy"));
  shards.Write("rows", NpyHeaderText("<i2", {9}) + std::string(18, 'r'));
  WriteIndex(shards.Path("rows"), sources::Compression::kNone, indexes.Path("windows"), sources::ContainerKind::kNpy,
             {.size = 4, .stride = 2});
}

// Writes files of arrays. Their rows, with the header of one row, are records.
void WriteArrays(const std::string& folder) {
  const Seeds arrays(folder, "npy");
  const std::string fields = "[('x', '<f4', (2,)), ('', '|V1'), ('y', '|S3'), ('t', '<M8[s]')]";
  arrays.Write("numbers", NpyHeaderText("<i2", {3, 2}) + std::string(12, 'n'));
  arrays.Write("text", NpyHeaderText("<U2", {2}) + std::string("a\0\0\0\xE5\x65\0\0\0\xF6\x01\0\0\0\0\0", 16));
  arrays.Write("fields", NpyHeaderText(fields, {2}) + std::string(40, 'f'));
  arrays.Write("row", NpyHeaderText(fields, {}) + std::string(20, 'f'));
  arrays.Write("double", NpyHeaderText("<f8", {2}) + std::string(16, '?'));
}

void WriteImages(const std::string& folder) {
  const Seeds seeds(folder, "image");
  const std::pair<const char*, image::JpegRecipe> jpegs[] = {
      {"444", {.width = 33, .height = 21}},
      {"420", {.width = 90, .height = 70, .horizontal = 2, .vertical = 2}},
      {"422", {.width = 83, .height = 17, .horizontal = 2}},
      {"440", {.width = 17, .height = 83, .vertical = 2}},
      {"411", {.width = 100, .height = 20, .horizontal = 4}},
      {"gray", {.width = 65, .height = 31, .components = 1}},
      {"cmyk", {.width = 40, .height = 24, .components = 4}},
      {"ycck", {.width = 70, .height = 40, .components = 4, .horizontal = 2, .vertical = 2, .ycck = true}},
      {"progressive", {.width = 80, .height = 48, .horizontal = 2, .vertical = 2, .progressive = true}},
      {"scans", {.width = 80, .height = 48, .horizontal = 2, .vertical = 2, .separate_scans = true}},
      {"restarts", {.width = 130, .height = 48, .horizontal = 2, .vertical = 2, .restart_interval = 3}},
      {"one_pixel", {.width = 1, .height = 1}},
  };
  for (const auto& [name, recipe] : jpegs) {
    // These bytes choose the crop.
    for (const std::string_view choice :
         {std::string_view("\x30\x60\x50\x60", 4), std::string_view("\x90\x81\x00\xff", 4)}) {
      seeds.Write(std::string(name) + (choice[0] == '\x30' ? "" : "-corner") + ".jpg",
                  image::MakeJpeg(recipe) + std::string(choice));
    }
  }
}

void WriteArchives(const std::string& folder) {
  const Seeds seeds(folder, "archive");
  const std::string images = imports::Npy("|u1", "3, 2, 2, 3", imports::Bytes(36)),
                    labels = imports::Npy("<i8", "3,", imports::Bytes(24));
  const std::pair<const char*, imports::ZipMaker::Options> kinds[] = {
      {"stored", {}},
      {"deflated", {.deflate = true}},
      {"zip64", {.zip64 = true}},
      {"encrypted", {.flags = 1}},
      {"method", {.method = 12}},
      {"checksum", {.deflate = true, .crc_xor = 1}},
  };
  for (const auto& [name, options] : kinds) {
    imports::ZipMaker zip;
    zip.Add("x_train.npy", images, options);
    zip.Add("y_train.npy", labels, options);
    zip.Add("note.txt", "no array", options);
    seeds.Write(name, zip.Bytes());
  }
  // One and two pieces, in which the data is inflated.
  for (const size_t pieces : {1, 2}) {
    const size_t data = pieces * (256 << 10) - imports::Npy("|u1", "1, 1000000", "").size();
    imports::ZipMaker zip;
    zip.Add("arr_0.npy", imports::Npy("|u1", absl::StrCat("1, ", data), std::string(data, '\0')), {.deflate = true});
    seeds.Write(absl::StrCat("pieces-", pieces), zip.Bytes());
  }
  seeds.Write("empty", imports::ZipMaker().Bytes());
  seeds.Write("array", imports::Npy("<f4", "2, 3", imports::Bytes(24)));
}

void WriteSamples(const std::string& folder) {
  const Seeds seeds(folder, "sample");
  const auto sample = [](const std::vector<std::pair<std::string, std::string>>& members) {
    std::string span;
    for (const auto& [name, data] : members) sources::AppendTarMember(name, data, &span);
    return span;
  };
  seeds.Write("image", sample({{"train/0001.jpg", "photograph"}, {"train/0001.cls", "7\n"}}));
  seeds.Write("array", sample({{"0001.npy", imports::Npy("<f4", "2, 3", imports::Bytes(24))}, {"0001.cls", "0.5"}}));
  seeds.Write("labels", sample({{"0001.npy", imports::Npy("<i8", "3,", imports::Bytes(24))}}));
  seeds.Write("json-numbers", sample({{"0001.json", R"({"a": [{"b": 1}, 2, true], "b": 0.5, "a": [1]})"}}));
  seeds.Write("json-texts", sample({{"0001.json", R"({"a": ["one", "\u00e9", ""], "b": null})"}}));
  seeds.Write("long-name", sample({{std::string(150, 'k') + ".png", "picture"}}));
  seeds.Write("pax", sources::PaxHeader(sources::PaxRecord("comment", "text"), 'g') +
                         sources::PaxHeader(sources::PaxRecord("path", "folder/0001.cls") +
                                            sources::PaxRecord("size", "000000001")) +
                         sources::TarHeader("0001.cls", 0) + sources::TarPadded("7"));
  seeds.Write("links", sources::TarHeader("train", 0, '5') + sources::TarHeader("train/0001.png", 9, '2') +
                           sample({{"__meta__/sizes.txt", "1"}, {"train/0001.cls", "7"}, {"README", ""}}));
  seeds.Write("duplicate", sample({{"0001.jpg", "one"}, {"0001.JPG", "two"}}));
}

void WritePngs(const std::string& folder) {
  const Seeds seeds(folder, "png");
  const std::string place("\0\x09\0\x07\0\x03\0\x02", 8);
  // Rows of every filter, two of the last one below each other.
  const auto rows = [](size_t row_bytes) {
    std::string bytes;
    for (int y = 0; y < 12; ++y) {
      bytes.push_back(static_cast<char>(std::min(4, y % 7)));
      for (size_t i = 0; i < row_bytes; ++i) bytes.push_back(static_cast<char>(i * 5 + static_cast<size_t>(y) * i % 7));
    }
    return bytes;
  };
  const std::pair<int, int> kinds[] = {{2, 8}, {0, 8}, {6, 8}, {3, 8}, {0, 1}, {3, 4}, {2, 16}, {4, 8}};
  for (size_t k = 0; k < std::size(kinds); ++k) {
    const auto [color, depth] = kinds[k];
    const std::string bytes = rows(image::PngRowBytes(20, color, depth));
    std::string head = image::PngHeader(20, 12, color, depth, false);
    if (color == 3) head += image::PngChunk("PLTE", std::string(48, '\x41'));
    const std::string name = absl::StrCat(color, "-", depth);
    // Whole files, and picture data alone, stored and deflated.
    seeds.Write(name + "-file", place + std::string(4, '\1') + image::WrapPng(head, image::ZlibStream(bytes, 9), 40));
    const std::string kind = {static_cast<char>(4 * k + 2), 19, 11, 40};
    seeds.Write(name + "-data", place + kind + image::ZlibStream(bytes, 9));
    seeds.Write(name + "-stored", place + kind + image::ZlibStream(bytes, 0));
  }
}

}  // namespace
}  // namespace penstock::fuzz

int main(int argc, char** argv) {
  if (argc != 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "usage: make_seeds tests/fuzz\n");
    return 2;
  }
  penstock::fuzz::WriteExamples(argv[1]);
  penstock::fuzz::WriteShards(argv[1]);
  penstock::fuzz::WriteArrays(argv[1]);
  penstock::fuzz::WriteImages(argv[1]);
  penstock::fuzz::WriteSamples(argv[1]);
  penstock::fuzz::WriteArchives(argv[1]);
  penstock::fuzz::WritePngs(argv[1]);
  return 0;
}
