// Mixing of a batch's rows as they arrive: the partners of a row, for any order, threads and batches.
#include "client/assembly/group_mixer.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "client/assembly/batch_builder.h"
#include "pipeline/batch/mix_job.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kImageBytes = 4 * 6 * 3;
constexpr size_t kClasses = 5;

std::shared_ptr<const BatchFormat> MixFormat(const std::string& mix_text) {
  batch::ColumnSpec image, label, name;
  image.name = "image";
  image.shape = {4, 6, 3};
  label.name = "label";
  label.dtype = batch::DType::kInt64;
  name.name = "name";
  name.dtype = batch::DType::kInt32;
  batch::RowSchema schema{{image, label, name}};
  v1::Mix mix;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(mix_text, &mix));
  auto plan = batch::MakeMixPlan(mix, schema);
  EXPECT_TRUE(plan.ok()) << plan.status();
  auto format = BatchFormat::Create(schema, BatchMix{*plan, 17});
  EXPECT_TRUE(format.ok()) << format.status();
  return *format;
}

// Row `row` of the epoch as a worker sends it.
std::string Payload(uint64_t row, int64_t label) {
  std::string bytes(kImageBytes, '\0');
  for (size_t i = 0; i < kImageBytes; ++i) bytes[i] = static_cast<char>(row * 37 + i);
  bytes.append(reinterpret_cast<const char*>(&label), 8);
  const auto name = static_cast<int32_t>(row);
  bytes.append(reinterpret_cast<const char*>(&name), 4);
  return bytes;
}
std::string Payload(uint64_t row) { return Payload(row, static_cast<int64_t>(row % kClasses)); }

void Write(BatchBuilder& builder, size_t row, const std::string& payload, bool valid = true) {
  transport::SliceList message;
  message.Add(transport::Slice::Of(payload));
  transport::SliceCursor cursor(std::move(message));
  ASSERT_TRUE(builder.WriteRow(row, payload.size(), &cursor).ok());
  builder.RowDone(row, valid);
}

struct MixedRow {
  std::vector<uint8_t> image;
  std::vector<float> label;
  bool operator==(const MixedRow&) const = default;
};

std::vector<MixedRow> RowsOf(const Batch& batch) {
  std::vector<MixedRow> rows(batch.rows());
  const auto images = batch.column("image").data<uint8_t>();
  const auto labels = batch.column("label").data<float>();
  for (size_t row = 0; row < rows.size(); ++row) {
    rows[row].image.assign(images.begin() + row * kImageBytes, images.begin() + (row + 1) * kImageBytes);
    rows[row].label.assign(labels.begin() + row * kClasses, labels.begin() + (row + 1) * kClasses);
  }
  return rows;
}

// Rows [first, first + count) of the epoch, as one batch.
std::vector<MixedRow> Mixed(const std::shared_ptr<const BatchFormat>& format, uint64_t first, size_t count) {
  auto builder = BatchBuilder::Create(format, count, std::make_shared<BatchMemory>(nullptr, 1 << 20), {2, first});
  for (size_t row = 0; row < count; ++row) Write(*builder, row, Payload(first + row));
  EXPECT_TRUE(builder->Seal(std::vector<RowId>(count), std::vector<uint8_t>(count, 1)).ok());
  return RowsOf(builder->Finish(2, 0, first));
}

// The unmixed row.
MixedRow Plain(uint64_t row) {
  MixedRow plain;
  const std::string payload = Payload(row);
  plain.image.assign(payload.begin(), payload.begin() + kImageBytes);
  plain.label.assign(kClasses, 0);
  plain.label[row % kClasses] = 1;
  return plain;
}

TEST(GroupMixer, TheTrainerSeesASoftLabelColumn) {
  const auto format = MixFormat("mixup_alpha: 1 classes: 5");
  EXPECT_EQ(format->infos[1].type, ElementType::kFloat32);
  EXPECT_THAT(format->infos[1].shape, ElementsAre(5));
  EXPECT_EQ(format->fixed_bytes, kImageBytes + 8 + 4);
  EXPECT_EQ(format->memory_bytes, kImageBytes + 8 + 20 + 4);
  const auto builder = BatchBuilder::Create(format, 2, std::make_shared<BatchMemory>(nullptr, 0), {});
  Write(*builder, 0, Payload(0));
  Write(*builder, 1, Payload(1));
  ASSERT_TRUE(builder->Seal({{0, 0}, {0, 1}}, {1, 1}).ok());
  const Batch batch = builder->Finish(0, 0, 0);
  EXPECT_EQ(batch.column("label").bytes(), 2 * 5 * sizeof(float));
  EXPECT_FALSE(batch.column("label").TryData<int64_t>().ok());
  EXPECT_EQ(batch.column("name").data<int32_t>()[1], 1) << "other columns are left alone";
}

TEST(GroupMixer, RowsAreAPureFunctionOfDrawAndPartner) {
  const auto format = MixFormat("mixup_alpha: 0.4 cutmix_alpha: 1 classes: 5 group: 4");
  const batch::MixPlan& plan = format->mix->plan;
  const std::vector<MixedRow> mixed = Mixed(format, 16, 8);
  int kinds[3] = {};
  for (uint64_t first = 16; first < 24; first += 4) {
    const batch::MixDraw draw = batch::DrawMix(plan.law, 17, 2, first, 4, 6);
    ++kinds[static_cast<int>(draw.kind)];
    for (uint64_t i = 0; i < 2; ++i) {
      MixedRow a = Plain(first + i), b = Plain(first + 3 - i);
      const MixedRow x = a, y = b;
      std::byte* images[] = {reinterpret_cast<std::byte*>(a.image.data()),
                             reinterpret_cast<std::byte*>(b.image.data())};
      std::byte* labels[] = {reinterpret_cast<std::byte*>(a.label.data()),
                             reinterpret_cast<std::byte*>(b.label.data())};
      batch::MixGroup(plan.tensors, draw, images, labels);
      EXPECT_EQ(mixed[first - 16 + i], a);
      EXPECT_EQ(mixed[first - 16 + 3 - i], b);
    }
  }
}

TEST(GroupMixer, BatchesAndRanksOfAnySizeGiveTheSameRows) {
  const auto format = MixFormat("mixup_alpha: 0.4 cutmix_alpha: 1 classes: 5");
  const std::vector<MixedRow> whole = Mixed(format, 0, 48);
  size_t changed = 0;
  for (uint64_t row = 0; row < 48; ++row) changed += whole[row].image != Plain(row).image;
  EXPECT_GT(changed, 30u);
  for (const size_t size : {2u, 4u, 6u, 16u, 24u}) {
    for (size_t first = 0; first < 48; first += size) {
      const std::vector<MixedRow> part = Mixed(format, first, size);
      for (size_t row = 0; row < size; ++row) EXPECT_EQ(part[row], whole[first + row]) << size << " " << first;
    }
  }
}

TEST(GroupMixer, RowsInAnyOrderFromManyThreadsGiveTheSameBatch) {
  const auto format = MixFormat("mixup_alpha: 0.4 cutmix_alpha: 1 classes: 5 group: 4");
  constexpr size_t kRows = 64;
  const std::vector<MixedRow> expected = Mixed(format, 128, kRows);
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<size_t> order(kRows);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    auto builder = BatchBuilder::Create(format, kRows, std::make_shared<BatchMemory>(nullptr, 0), {2, 128});
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = t; i < kRows; i += 4) Write(*builder, order[i], Payload(128 + order[i]));
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(builder->Seal(std::vector<RowId>(kRows), std::vector<uint8_t>(kRows, 1)).ok());
    EXPECT_EQ(RowsOf(builder->Finish(2, 0, 128)), expected);
  }
}

TEST(GroupMixer, AGroupWithAnInvalidRowStaysUnmixedAndAMaskedLabelIsZeros) {
  const auto format = MixFormat("mixup_alpha: 1 classes: 5 group: 2");
  auto builder = BatchBuilder::Create(format, 6, std::make_shared<BatchMemory>(nullptr, 0), {2, 0});
  Write(*builder, 0, Payload(0));
  builder->WriteMasked(1);
  builder->RowDone(1, false);
  Write(*builder, 2, Payload(2));
  Write(*builder, 3, Payload(3), /*valid=*/false);  // padding, with its content
  Write(*builder, 4, Payload(4));
  Write(*builder, 5, Payload(5));
  ASSERT_TRUE(builder->Seal(std::vector<RowId>(6), {1, 0, 1, 0, 1, 1}).ok());
  const std::vector<MixedRow> rows = RowsOf(builder->Finish(2, 0, 0));
  EXPECT_EQ(rows[0], Plain(0));
  EXPECT_EQ(rows[1].image, std::vector<uint8_t>(kImageBytes, 0));
  EXPECT_EQ(rows[1].label, std::vector<float>(kClasses, 0));
  EXPECT_EQ(rows[2], Plain(2));
  EXPECT_EQ(rows[3], Plain(3));
  EXPECT_EQ(rows[4], Mixed(format, 4, 2)[0]);
  EXPECT_NE(rows[4], Plain(4));
}

TEST(GroupMixer, AnIncompleteGroupStaysUnmixed) {
  const auto format = MixFormat("mixup_alpha: 1 classes: 5 group: 4");
  const std::vector<MixedRow> rows = Mixed(format, 8, 7);
  const std::vector<MixedRow> whole = Mixed(format, 8, 8);
  for (size_t row = 0; row < 4; ++row) EXPECT_EQ(rows[row], whole[row]);
  for (size_t row = 4; row < 7; ++row) EXPECT_EQ(rows[row], Plain(8 + row));
}

TEST(GroupMixer, NamesALabelThatIsNoClass) {
  const auto format = MixFormat("mixup_alpha: 1 classes: 5");
  for (const int64_t label : {int64_t{5}, int64_t{-1}}) {
    auto builder = BatchBuilder::Create(format, 2, std::make_shared<BatchMemory>(nullptr, 0), {2, 10});
    Write(*builder, 0, Payload(10));
    Write(*builder, 1, Payload(11, label));
    const absl::Status status = builder->Seal({{1, 2}, {3, 4}}, {1, 1});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("column \"label\" of row 11 of epoch 2 (shard 3, record 4) is " + std::to_string(label)));
    EXPECT_THAT(std::string(status.message()), HasSubstr("[0, 5)"));
  }
}

}  // namespace
}  // namespace penstock::client
