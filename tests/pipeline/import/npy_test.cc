#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/import/npy_source.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/pipeline/import/npy_testing.h"
#include "tests/support/plain_rows.h"

namespace penstock::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string OpenError(const TempDir& dir, const std::string& content) {
  dir.Write("bad.npy", content);
  const absl::Status status = NpyFile::Open(storage::LocalFiles(), dir.File("bad.npy")).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad.npy"));
  return std::string(status.message());
}

TEST(NpyFile, ReadsItsRows) {
  TempDir dir;
  const std::string data = Bytes(3 * 2 * 4);
  dir.Write("a.npy", Npy("<f4", "3, 2", data));
  const auto npy = NpyFile::Open(storage::LocalFiles(), dir.File("a.npy"));
  ASSERT_TRUE(npy.ok()) << npy.status();
  EXPECT_EQ((*npy)->dtype(), batch::DType::kFloat32);
  EXPECT_EQ((*npy)->rows(), 3u);
  EXPECT_EQ((*npy)->row_shape(), std::vector<int64_t>{2});
  std::string row;
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE((*npy)->ReadRow(i, &row).ok());
    EXPECT_EQ(row, data.substr(i * 8, 8));
  }
}

TEST(NpyFile, ReadsLaterVersions) {
  const std::string dict = "{\"descr\": \"|u1\", \"shape\": (4L,), \"fortran_order\": False}\n";
  std::string file("\x93NUMPY\x02\x00", 8);
  for (int shift = 0; shift < 32; shift += 8) file += static_cast<char>(dict.size() >> shift);
  const auto header = ParseNpyHeader(file + dict);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->descr, "|u1");
  EXPECT_EQ(header->shape, std::vector<int64_t>{4});
  EXPECT_EQ(header->data_offset, 12 + dict.size());
}

TEST(NpyFile, ErrorsNameTheCauseAndTheFix) {
  TempDir dir;
  EXPECT_THAT(OpenError(dir, "not numpy"), HasSubstr("no .npy header"));
  EXPECT_THAT(OpenError(dir, ""), HasSubstr("no .npy header"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "3", Bytes(11))), HasSubstr("cut off"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "3", Bytes(16))), HasSubstr("longer than one array"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "2, 3", Bytes(24), true)), HasSubstr("ascontiguousarray"));
  EXPECT_THAT(OpenError(dir, Npy("<c8", "3", Bytes(24))),
              HasSubstr("'<c8' cannot be a column; save it as one of uint8 to uint64"));
  EXPECT_THAT(OpenError(dir, Npy(">f4", "3", Bytes(12))), HasSubstr("big-endian"));
  EXPECT_THAT(OpenError(dir, Npy("|O", "3", Bytes(24))), HasSubstr("Python objects"));
  EXPECT_FALSE(OpenError(dir, Npy("[('a', '<f4'), ('b', '<i4')]", "3", Bytes(24))).empty());
  EXPECT_THAT(OpenError(dir, Npy("<f4", "", Bytes(4))), HasSubstr("one number"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "0, 3", "")), HasSubstr("no rows"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "3, 0", "")), HasSubstr("rows are empty"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "1, 4000000000, 4000000000", "")), HasSubstr("one record may have"));
  EXPECT_THAT(OpenError(dir, Npy("<f4", "99999999999999999999", "")), HasSubstr("shape"));
  EXPECT_EQ(NpyFile::Open(storage::LocalFiles(), dir.File("gone.npy")).status().code(), absl::StatusCode::kNotFound);
}

TEST(NpyFile, NeverCrashesOnADamagedHeader) {
  const std::string good = Npy("<f4", "3, 2", "");
  for (size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(ParseNpyHeader(good.substr(0, cut)).ok()) << cut;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      (void)ParseNpyHeader(damaged);
    }
  }
}

TEST(NpyLabels, AcceptIntegersOfAnyType) {
  TempDir dir;
  dir.Write("l.npy", Npy("|i1", "3", std::string("\x01\xff\x07")));
  EXPECT_EQ(*ReadNpyLabels(storage::LocalFiles(), dir.File("l.npy")), (std::vector<int64_t>{1, -1, 7}));
  dir.Write("l.npy", Npy("<u2", "2, 1", std::string("\x01\x02\xff\xff")));
  EXPECT_EQ(*ReadNpyLabels(storage::LocalFiles(), dir.File("l.npy")), (std::vector<int64_t>{513, 65535}));
  dir.Write("l.npy", Npy("<f4", "3", Bytes(12)));
  EXPECT_THAT(std::string(ReadNpyLabels(storage::LocalFiles(), dir.File("l.npy")).status().message()),
              HasSubstr("labels are integers"));
  dir.Write("l.npy", Npy("<i4", "3, 2", Bytes(24)));
  EXPECT_THAT(std::string(ReadNpyLabels(storage::LocalFiles(), dir.File("l.npy")).status().message()),
              HasSubstr("one number in each row"));
}

TEST(NpySource, AWindowHoldsRowsOfEachArray) {
  TempDir dir;
  dir.Write("x.npy", Npy("<i4", "6,", Bytes(24)));
  dir.Write("y.npy", Npy("|u1", "6, 3", Bytes(18)));
  const auto column = [&](const char* key) {
    NpyColumn out{key, {}};
    out.files.push_back(*NpyFile::Open(storage::LocalFiles(), dir.File(absl::StrCat(key, ".npy"))));
    return out;
  };
  std::vector<NpyColumn> others;
  others.push_back(column("y"));
  const auto source = NpySource::Create(column("x"), {}, std::move(others), 2);
  ASSERT_TRUE(source.ok()) << source.status();
  const std::string text = (*source)->JobText("arrays", "data-*");
  v1::JobSpec job;
  EXPECT_TRUE(config::CheckJobText(text, augment::CheckPipeline, &job).empty()) << text;
  ASSERT_EQ(job.features_size(), 2) << text;
  EXPECT_THAT(job.features(0).shape(), ElementsAre(2));
  EXPECT_THAT(job.features(1).shape(), ElementsAre(2, 3));
}

// Writes the arrays and reads them with the job of JobText, in order.
std::vector<std::string> RoundTrip(const TempDir& dir, std::vector<std::string> names, std::vector<int64_t> labels,
                                   batch::RowSchema* schema, std::vector<int64_t>* labels_back) {
  std::vector<std::unique_ptr<const NpyFile>> files;
  for (const std::string& name : names) files.push_back(*NpyFile::Open(storage::LocalFiles(), dir.File(name)));
  const auto source = NpySource::Create({"data", std::move(files)}, std::move(labels));
  EXPECT_TRUE(source.ok()) << source.status();
  ShardSetOptions options;
  options.folder = dir.File("out");
  options.shard_bytes = 500;
  const auto written = WriteShards(storage::LocalFiles(), **source, options);
  EXPECT_TRUE(written.ok()) << written.status();
  const std::string text = (*source)->JobText("arrays", dir.File("out/data-*.tfrecord"));
  v1::JobSpec job;
  EXPECT_EQ(
      std::string(config::MistakesToStatus("job", config::CheckJobText(text, augment::CheckPipeline, &job)).message()),
      "")
      << text;
  job.mutable_order()->set_shuffle(v1::Order::NONE);
  job.mutable_batch()->set_size(1);
  const auto opened = support::OpenJob(job, {{"local", "/"}});
  EXPECT_TRUE(opened.ok()) << opened.status();
  *schema = (*opened)->schema();
  const auto steps = support::PlainSteps(**opened);
  EXPECT_TRUE(steps.ok()) << steps.status();
  std::vector<std::string> rows;
  for (const support::PlainStep& step : *steps) {
    const std::vector<support::PlainRow::Column>& columns = step.rows[0].columns;
    rows.push_back(columns[0].bytes);
    if (columns.size() > 1) {
      int64_t label = 0;
      std::memcpy(&label, columns[1].bytes.data(), sizeof(label));
      labels_back->push_back(label);
    }
  }
  return rows;
}

TEST(NpySource, TheJobReadsTheRowsBack) {
  TempDir dir;
  const std::string data = Bytes(6 * 4 * 5 * 3);
  dir.Write("a.npy", Npy("|u1", "4, 4, 5, 3", data.substr(0, 240)));
  dir.Write("b.npy", Npy("|u1", "2, 4, 5, 3", data.substr(240)));
  const std::vector<int64_t> labels = {5, -6, 7, 8, 9, 1000000};
  batch::RowSchema schema;
  std::vector<int64_t> labels_back;
  const auto rows = RoundTrip(dir, {"a.npy", "b.npy"}, labels, &schema, &labels_back);
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(rows[i], data.substr(i * 60, 60));
  EXPECT_EQ(labels_back, labels);
  EXPECT_EQ(schema.columns[0].name, "image");
  EXPECT_EQ(schema.columns[0].shape, (std::vector<int64_t>{4, 5, 3}));
  EXPECT_EQ(schema.columns[1].name, "label");
}

// MNIST's shape: gray images, which image ops accept.
TEST(NpySource, BytesOfHeightByWidthAreGrayImages) {
  TempDir dir;
  const std::string data = Bytes(size_t{3} * 4 * 5);
  dir.Write("a.npy", Npy("|u1", "3, 4, 5", data));
  batch::RowSchema schema;
  std::vector<int64_t> none;
  const auto rows = RoundTrip(dir, {"a.npy"}, {}, &schema, &none);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0] + rows[1] + rows[2], data);
  EXPECT_EQ(schema.columns[0].name, "image");
  EXPECT_EQ(schema.columns[0].shape, (std::vector<int64_t>{4, 5, 1}));
}

TEST(NpySource, EveryTypeSurvivesTheRoundTrip) {
  for (const auto& [descr, dtype] : {std::pair{"|u1", batch::DType::kUint8},
                                     {"|i1", batch::DType::kInt8},
                                     {"<u2", batch::DType::kUint16},
                                     {"<i2", batch::DType::kInt16},
                                     {"<u4", batch::DType::kUint32},
                                     {"<i4", batch::DType::kInt32},
                                     {"<u8", batch::DType::kUint64},
                                     {"<i8", batch::DType::kInt64},
                                     {"<f2", batch::DType::kFloat16},
                                     {"<f4", batch::DType::kFloat32},
                                     {"<f8", batch::DType::kFloat64},
                                     {"|b1", batch::DType::kBool}}) {
    TempDir dir;
    const std::string data = Bytes(3 * batch::DTypeSize(dtype));
    dir.Write("a.npy", Npy(descr, "3,", data));
    batch::RowSchema schema;
    std::vector<int64_t> none;
    const auto rows = RoundTrip(dir, {"a.npy"}, {}, &schema, &none);
    ASSERT_EQ(rows.size(), 3u) << descr;
    EXPECT_EQ(rows[0] + rows[1] + rows[2], data) << descr;
    EXPECT_EQ(schema.columns[0].dtype, dtype);
    EXPECT_TRUE(schema.columns[0].shape.empty());
    EXPECT_EQ(schema.columns[0].name, "data");
  }
}

TEST(NpySource, ArraysAndLabelsMustFit) {
  TempDir dir;
  dir.Write("a.npy", Npy("|u1", "4, 2", Bytes(8)));
  dir.Write("b.npy", Npy("|i1", "4, 2", Bytes(8)));
  dir.Write("c.npy", Npy("|u1", "4, 1", Bytes(4)));
  for (const char* other : {"b.npy", "c.npy"}) {
    std::vector<std::unique_ptr<const NpyFile>> files;
    files.push_back(*NpyFile::Open(storage::LocalFiles(), dir.File("a.npy")));
    files.push_back(*NpyFile::Open(storage::LocalFiles(), dir.File(other)));
    EXPECT_THAT(std::string(NpySource::Create({"data", std::move(files)}, {}).status().message()), HasSubstr(other));
  }
  std::vector<std::unique_ptr<const NpyFile>> files;
  files.push_back(*NpyFile::Open(storage::LocalFiles(), dir.File("a.npy")));
  EXPECT_THAT(std::string(NpySource::Create({"data", std::move(files)}, {1, 2}).status().message()),
              HasSubstr("2 labels for 4 rows"));
}

}  // namespace
}  // namespace penstock::imports
