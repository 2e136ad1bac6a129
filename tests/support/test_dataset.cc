#include "tests/support/test_dataset.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/file.h"
#include "base/philox.h"
#include "google/protobuf/text_format.h"
#include "pipeline/image/formats/png.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/tfrecord/framing.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::support {
namespace {

namespace fs = std::filesystem;

v1::Dataset::Compression ProtoCompression(sources::Compression compression) {
  return static_cast<v1::Dataset::Compression>(compression);  // the numbers are the same
}

TestDataset EmptyDataset(const std::string& name, const std::string& folder, sources::Compression compression) {
  TestDataset set;
  const std::string real = fs::canonical(folder).string();
  set.glob = real + "/data-*";
  set.roots = {{"data", real}};
  set.job.set_name(name);
  v1::Dataset* dataset = set.job.add_dataset();
  dataset->add_files(set.glob);
  dataset->set_compression(ProtoCompression(compression));
  v1::Order* order = set.job.mutable_order();
  order->set_seed(17);
  order->set_shuffle(v1::Order::CHUNKED);
  order->set_chunk_records(4);
  order->set_window_chunks(8);
  set.job.mutable_batch()->set_size(8);
  return set;
}

void AddFeature(v1::JobSpec* job, const std::string& key, const std::string& column, v1::Feature::Type type,
                bool ragged) {
  v1::Feature* feature = job->add_features();
  feature->set_key(key);
  feature->set_column(column);
  feature->set_type(type);
  feature->set_variable_length(ragged);
}

std::string ShardName(const TestDataset& set, int shard) {
  return absl::StrFormat("%s/data-%05d", set.roots[0].path, shard);
}

}  // namespace

std::string MakeTestJpeg(int width, int height, uint64_t number, int quality) {
  // Smooth blobs of color with a little grain: they compress about as photographs do.
  SampleRandom random(0x70656e73746f636b, number, 0);
  cv::Mat coarse(height / 8 + 2, width / 8 + 2, CV_8UC3);
  for (size_t i = 0; i < coarse.total() * 3; ++i) coarse.data[i] = static_cast<uint8_t>(random.Next32() >> 24);
  cv::Mat image;
  cv::resize(coarse, image, cv::Size(width, height), 0, 0, cv::INTER_CUBIC);
  for (size_t i = 0; i < image.total() * 3; i += 4) {
    const uint32_t word = random.Next32();
    for (size_t k = i; k < std::min(i + 4, image.total() * 3); ++k) {
      const int value = image.data[k] + static_cast<int>((word >> (8 * (k - i))) & 15) - 8;
      image.data[k] = static_cast<uint8_t>(std::clamp(value, 0, 255));
    }
  }
  cv::cvtColor(image, image, cv::COLOR_BGR2RGB);
  const auto jpeg =
      image::EncodeJpeg({image.data, image.cols, image.rows, 3, image.step}, {.quality = quality, .optimize = false});
  PS_CHECK(jpeg.ok());
  return *jpeg;
}

namespace {

// A PNG of one channel with a bright rectangle.
std::string MakeMask(int width, int height, uint64_t number) {
  cv::Mat mask(height, width, CV_8UC1, cv::Scalar(0));
  const int shift = static_cast<int>(number % 10);
  cv::rectangle(mask, {shift, shift}, {width / 2, height / 2}, cv::Scalar(200), cv::FILLED);
  const auto png = image::EncodePng({mask.data, width, height, 1, mask.step});
  PS_CHECK(png.ok());
  return *png;
}

}  // namespace

TestDataset MakeDetectionDataset(const std::string& folder) {
  TestDataset set = MakeImageDataset({.shards = 1, .records_per_shard = 1}, folder);
  std::vector<std::string> records;
  for (uint64_t i = 0; i < 40; ++i) {
    std::vector<float> low, high;
    std::vector<int64_t> labels;
    for (uint64_t b = 0; b < i % 4; ++b) {
      low.push_back(0.1f * static_cast<float>(b + i % 5));
      high.push_back(low.back() + 0.2f);
      labels.push_back(static_cast<int64_t>(100 * i + b));
    }
    records.push_back(records::ExampleBuilder()
                          .Bytes("image/encoded", MakeTestJpeg(60, 44, i))
                          .FloatList("image/object/bbox/xmin", low)
                          .FloatList("image/object/bbox/ymin", low)
                          .FloatList("image/object/bbox/xmax", high)
                          .FloatList("image/object/bbox/ymax", high)
                          .Int64List("image/object/class/label", labels)
                          .Bytes("image/mask", MakeMask(60, 44, i))
                          .Serialize());
  }
  WriteShard(set.files[0], records);
  set.job.clear_features();
  set.job.clear_ops();
  PS_CHECK(google::protobuf::TextFormat::MergeFromString(
      "features { key: 'image/encoded' column: 'image' type: BYTES }"
      "features { key: 'image/object/class/label' column: 'labels' type: INT64 variable_length: true }"
      "features { key: 'image/mask' column: 'mask' type: BYTES } ops { column: 'mask' decode_image { channels: GRAY } }"
      "ops { decode_image { } } ops { resize { shorter_side: 40 } } ops { rotate { min_degrees: -20 max_degrees: 20 } }"
      "ops { random_resized_crop { height: 32 width: 32 } } ops { random_horizontal_flip { } }"
      "annotations { boxes { companions: 'labels' min_visible: 0.2 } masks: 'mask' }",
      &set.job));
  return set;
}

void WriteShard(const std::string& path, const std::vector<std::string>& records, sources::Compression compression) {
  sources::WriterOptions options;
  options.compression = compression;
  auto writer = sources::TFRecordWriter::Open(storage::LocalFiles(), path, options);
  PS_CHECK(writer.ok());
  for (const std::string& record : records) PS_CHECK((*writer)->Write(record).ok());
  PS_CHECK((*writer)->Close().ok());
}

TestDataset MakeImageDataset(const ImageDatasetOptions& options, const std::string& folder) {
  TestDataset set = EmptyDataset("images", folder, options.compression);
  const uint64_t total = static_cast<uint64_t>(options.shards) * options.records_per_shard;
  for (int shard = 0; shard < options.shards; ++shard) {
    std::string archive;
    std::vector<std::string> records;
    for (int k = 0; k < options.records_per_shard; ++k) {
      const uint64_t number = static_cast<uint64_t>(shard) * options.records_per_shard + k;
      SampleRandom random(options.seed, number, 1);
      const int width = options.width - static_cast<int>(random.Below(options.width / 4 + 1));
      const int height = options.height - static_cast<int>(random.Below(options.height / 4 + 1));
      std::vector<float> boxes(4 * random.Below(4));
      for (float& value : boxes) value = random.Uniform();
      const std::string jpeg = MakeTestJpeg(width, height, options.seed * 1000003 + number, options.quality);
      const auto label = static_cast<int64_t>(number * options.classes / total);
      if (options.tar) {
        sources::AppendTarMember(absl::StrFormat("%06d.jpg", number), jpeg, &archive);
        sources::AppendTarMember(absl::StrFormat("%06d.cls", number), absl::StrCat(label), &archive);
        continue;
      }
      records.push_back(records::ExampleBuilder()
                            .Bytes("image/encoded", jpeg)
                            .Int64("image/class/label", label)
                            .Bytes("image/filename", absl::StrFormat("image-%d.jpg", number))
                            .FloatList("image/boxes", boxes)
                            .Serialize());
    }
    set.files.push_back(ShardName(set, shard));
    if (options.tar) {
      PS_CHECK(WriteFileAtomically(set.files.back(), archive).ok());
    } else {
      WriteShard(set.files.back(), records, options.compression);
    }
  }
  set.records = total;
  AddFeature(&set.job, options.tar ? "jpg" : "image/encoded", "image", v1::Feature::BYTES, false);
  AddFeature(&set.job, options.tar ? "cls" : "image/class/label", "label", v1::Feature::INT64, false);
  set.job.add_ops()->mutable_decode_image();
  v1::RandomResizedCrop* crop = set.job.add_ops()->mutable_random_resized_crop();
  crop->set_height(options.crop);
  crop->set_width(options.crop);
  crop->set_resize(options.resize);
  set.job.add_ops()->mutable_random_horizontal_flip();
  return set;
}

TestDataset MakeNumberDataset(const NumberDatasetOptions& options, const std::string& folder) {
  TestDataset set = EmptyDataset("numbers", folder, options.compression);
  for (int shard = 0; shard < options.shards; ++shard) {
    std::vector<std::string> records;
    for (int k = 0; k < options.records_per_shard; ++k) {
      const uint64_t id = set.records++;
      SampleRandom random(options.seed, id, 2);
      std::vector<float> values(random.Below(options.max_values + 1));
      for (float& value : values) value = random.Uniform();
      records.push_back(records::ExampleBuilder()
                            .Int64("id", static_cast<int64_t>(id))
                            .FloatList("values", values)
                            .Bytes("name", absl::StrFormat("record-%d", id))
                            .Float("weight", static_cast<float>(id) / 8)
                            .Serialize());
    }
    set.files.push_back(ShardName(set, shard));
    WriteShard(set.files.back(), records, options.compression);
  }
  AddFeature(&set.job, "id", "id", v1::Feature::INT64, false);
  AddFeature(&set.job, "values", "values", v1::Feature::FLOAT, true);
  AddFeature(&set.job, "name", "name", v1::Feature::BYTES, false);
  AddFeature(&set.job, "weight", "weight", v1::Feature::FLOAT, false);
  return set;
}

void FlipByte(const std::string& path, int64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  PS_CHECK(file.good());
  const auto origin = offset < 0 ? std::ios::end : std::ios::beg;
  file.seekg(offset, origin);
  const char byte = static_cast<char>(file.get());
  file.seekp(offset, origin);
  file.put(static_cast<char>(byte ^ 0x5a));
  PS_CHECK(file.good());
}

void BreakRecord(const std::string& path, uint64_t record) {
  const auto file = OpenFile(path);
  PS_CHECK(file.ok());
  const auto index = sources::BuildShardIndex(**file);
  PS_CHECK(index.ok() && record < index->record_count());
  const uint64_t header = index->kind().container == sources::ContainerKind::kTar ? 0 : sources::kRecordHeaderBytes;
  FlipByte(path, static_cast<int64_t>(index->RecordOffset(record) + header + index->RecordLength(record) / 2));
}

}  // namespace penstock::support
