#include "client/assembly/batch_builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/ascii.h"
#include "penstock/v1/op_common.pb.h"

namespace penstock::client {
namespace {

batch::ColumnSpec Column(const char* name, batch::DType dtype, bool ragged, std::vector<int64_t> shape,
                         bool scalar = false) {
  batch::ColumnSpec spec;
  spec.name = name;
  spec.dtype = dtype;
  spec.ragged = ragged;
  spec.shape = std::move(shape);
  spec.scalar = scalar;
  return spec;
}

std::shared_ptr<const BatchFormat> Format(std::vector<batch::ColumnSpec> columns) {
  batch::RowSchema schema;
  schema.columns = std::move(columns);
  auto format = BatchFormat::Create(std::move(schema));
  EXPECT_TRUE(format.ok()) << format.status();
  return *format;
}

transport::SliceCursor Cursor(const std::string& bytes, size_t piece = 3) {
  transport::SliceList message;
  for (size_t at = 0; at < bytes.size(); at += piece) message.Add(transport::Slice::Of(bytes.substr(at, piece)));
  return transport::SliceCursor(std::move(message));
}

std::shared_ptr<BatchMemory> Memory() { return std::make_shared<BatchMemory>(nullptr, 1 << 20); }

TEST(BatchFormat, RejectsInvalidColumns) {
  const auto code = [](batch::ColumnSpec spec) {
    batch::RowSchema schema;
    schema.columns = {std::move(spec)};
    return BatchFormat::Create(std::move(schema)).status().code();
  };
  EXPECT_EQ(code(Column("a", static_cast<batch::DType>(77), false, {})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Column("a", batch::DType::kString, false, {})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Column("a", batch::DType::kUint8, false, {-1})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Column("a", batch::DType::kFloat64, false, {1 << 30, 1 << 30, 1 << 30})),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Column("a", batch::DType::kUint8, false, {0, 5})), absl::StatusCode::kOk);
}

TEST(BatchBuilder, WritesFixedColumnsToTheirRows) {
  const auto format =
      Format({Column("a", batch::DType::kUint16, false, {2}), Column("b", batch::DType::kInt64, false, {})});
  auto builder = BatchBuilder::Create(format, 2, Memory());
  const std::string rows(
      "\x01\x00\x02\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x05\x00\x06\x00\x00\x00\x00\x00\x00\x00", 24);
  transport::SliceCursor cursor = Cursor(rows);
  ASSERT_TRUE(builder->WriteRow(1, 12, &cursor).ok());
  ASSERT_TRUE(builder->WriteRow(0, 12, &cursor).ok());
  ASSERT_TRUE(builder->Seal({{1, 2}, {3, 4}}, {1, 0}).ok());
  const Batch batch = builder->Finish(7, 8, 9);
  EXPECT_EQ(batch.epoch(), 7u);
  EXPECT_EQ(batch.step(), 8u);
  EXPECT_EQ(batch.position(), 9u);
  const auto a = batch.column("a").data<uint16_t>();
  EXPECT_EQ(std::vector<uint16_t>(a.begin(), a.end()), (std::vector<uint16_t>{4, 5, 1, 2}));
  const auto b = batch.column("b").data<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(b.begin(), b.end()), (std::vector<int64_t>{6, 3}));
  EXPECT_EQ(batch.ids()[1], (RowId{3, 4}));
  EXPECT_EQ(batch.valid()[1], 0);
  EXPECT_EQ(batch.FindColumn("c"), nullptr);
  EXPECT_DEATH(batch.column("c"), "has no column \"c\".*\"a\" \"b\"");
}

// A batch of one column whose two rows are zeros.
Batch OfColumn(batch::ColumnSpec column) {
  const auto format = Format({std::move(column)});
  auto builder = BatchBuilder::Create(format, 2, Memory());
  for (size_t row = 0; row < 2; ++row) builder->WriteMasked(row);
  EXPECT_TRUE(builder->Seal({{0, 0}, {0, 1}}, {0, 0}).ok());
  return builder->Finish(0, 0, 0);
}

struct Half {
  uint16_t bits;
};

// The public header repeats the element types, because it includes no internal header. Code casts the column types to
// the public ones.
TEST(ElementType, IsTheJobFilesDataTypeByNumberAndName) {
  using Type = ElementType;
  const std::pair<Type, v1::DataType> types[] = {
      {Type::kUint8, v1::UINT8},     {Type::kInt8, v1::INT8},         {Type::kUint16, v1::UINT16},
      {Type::kInt16, v1::INT16},     {Type::kInt32, v1::INT32},       {Type::kInt64, v1::INT64},
      {Type::kFloat16, v1::FLOAT16}, {Type::kBfloat16, v1::BFLOAT16}, {Type::kFloat32, v1::FLOAT32},
      {Type::kFloat64, v1::FLOAT64}, {Type::kBool, v1::BOOL},         {Type::kString, v1::STRING},
      {Type::kUint32, v1::UINT32},   {Type::kUint64, v1::UINT64},
  };
  EXPECT_EQ(static_cast<int>(std::size(types)), v1::DataType_descriptor()->value_count() - 1);
  for (const auto& [type, of_job] : types) {
    EXPECT_EQ(static_cast<int>(type), static_cast<int>(of_job)) << v1::DataType_Name(of_job);
    EXPECT_EQ(ElementTypeName(type), absl::AsciiStrToLower(v1::DataType_Name(of_job)));
  }
}

TEST(ColumnView, ReadingAnotherTypeEndsTheProcessAndNamesColumnAndTypes) {
  const Batch batch = OfColumn(Column("label", batch::DType::kInt64, false, {}));
  const ColumnView& label = batch.column("label");
  EXPECT_EQ(label.data<int64_t>().size(), 2u);
  // wrong width
  EXPECT_DEATH(label.data<int32_t>(), "column \"label\" holds int64, which data<int>\\(\\) does not read");
  // wrong kind
  EXPECT_DEATH(label.data<double>(), "column \"label\" holds int64, which data<double>\\(\\) does not read");
  EXPECT_DEATH(label.data<uint64_t>(), "column \"label\"");
  EXPECT_DEATH(ColumnView().data<float>(), "no batch");
}

TEST(ColumnView, UnsignedTypesReadColumnsOfTheirWidth) {
  EXPECT_TRUE(ReadsAs<uint32_t>(ElementType::kUint32));
  EXPECT_TRUE(ReadsAs<unsigned long>(ElementType::kUint64));
  EXPECT_FALSE(ReadsAs<int32_t>(ElementType::kUint32));
  EXPECT_FALSE(ReadsAs<uint32_t>(ElementType::kUint64));
  EXPECT_FALSE(ReadsAs<uint32_t>(ElementType::kFloat32));
}

TEST(ColumnView, TryDataReturnsTheErrorOfAnotherType) {
  const Batch batch = OfColumn(Column("image", batch::DType::kFloat32, false, {3}));
  const ColumnView& image = batch.column("image");
  ASSERT_TRUE(image.TryData<float>().ok());
  EXPECT_EQ(image.TryData<float>()->size(), 6u);
  EXPECT_EQ(image.TryData<uint8_t>().status().message(),
            "column \"image\" holds float32, which data<unsigned char>() does not read; ask for that type, or cast the "
            "column in the job");
  EXPECT_EQ(image.TryData<int32_t>().status().code(), absl::StatusCode::kInvalidArgument)
      << "the same width, but another kind";
}

TEST(ColumnView, StringColumnsHaveNoData) {
  const Batch batch = OfColumn(Column("name", batch::DType::kString, true, {}, true));
  EXPECT_DEATH(batch.column("name").data<uint8_t>(), "column \"name\" holds string, .*string\\(i\\) does");
}

TEST(ColumnView, HalfFloatsCanBeReadAsBitsOrAsATypeOfTheCaller) {
  const Batch batch = OfColumn(Column("h", batch::DType::kBfloat16, false, {}));
  EXPECT_TRUE(batch.column("h").TryData<uint16_t>().ok());
  EXPECT_TRUE(batch.column("h").TryData<Half>().ok());
  EXPECT_FALSE(batch.column("h").TryData<int16_t>().ok());
  EXPECT_FALSE(OfColumn(Column("i", batch::DType::kInt16, false, {})).column("i").TryData<Half>().ok());
}

TEST(ColumnView, ARaggedColumnWithoutElementsIsEmptyAndKeepsItsType) {
  const Batch batch = OfColumn(Column("v", batch::DType::kInt32, true, {2}));
  EXPECT_TRUE(batch.column("v").data<int32_t>().empty());
  EXPECT_FALSE(batch.column("v").TryData<float>().ok());
}

TEST(BatchBuilder, RejectsRowsOfAnyOtherLength) {
  const auto format =
      Format({Column("a", batch::DType::kUint8, false, {3}), Column("v", batch::DType::kInt32, true, {2}),
              Column("s", batch::DType::kString, true, {}, true)});
  // a: 3 bytes; v: one element of 8 bytes; s: one string of 2.
  const std::string row = std::string("abc\x01\0\0\0", 7) + "12345678" + std::string("\x01\0\0\0\x02\0\0\0xy", 10);
  auto builder = BatchBuilder::Create(format, 1, Memory());
  for (size_t n = 0; n < row.size() + 3; ++n) {
    transport::SliceCursor cursor = Cursor(row + "zzz");
    const absl::Status status = builder->WriteRow(0, n, &cursor);
    EXPECT_EQ(status.ok(), n == row.size()) << n << " " << status;
  }
  transport::SliceCursor shorter = Cursor(row.substr(0, 10));
  EXPECT_FALSE(builder->WriteRow(0, row.size(), &shorter).ok());
  for (size_t at = 0; at < row.size(); ++at) {
    std::string hostile = row;
    hostile[at] = '\xff';
    transport::SliceCursor cursor = Cursor(hostile);
    builder->WriteRow(0, hostile.size(), &cursor).IgnoreError();  // at most an error
  }
  transport::SliceCursor cursor = Cursor(row);
  ASSERT_TRUE(builder->WriteRow(0, row.size(), &cursor).ok());
  ASSERT_TRUE(builder->Seal({{0, 0}}, {1}).ok());
  const Batch batch = builder->Finish(0, 0, 0);
  EXPECT_EQ(batch.column("s").string(0), "xy");
  EXPECT_EQ(batch.column("v").bytes(), 8u);
  EXPECT_EQ(batch.column("v").row_splits()[1], 1);
}

TEST(BatchBuilder, ReturnsRandomRaggedRowsUnchanged) {
  std::mt19937 random(1);
  const auto format =
      Format({Column("v", batch::DType::kInt64, true, {}), Column("s", batch::DType::kString, true, {})});
  constexpr size_t kRows = 50;
  auto builder = BatchBuilder::Create(format, kRows, Memory());
  std::vector<std::vector<int64_t>> numbers(kRows);
  std::vector<std::vector<std::string>> strings(kRows);
  for (size_t row = 0; row < kRows; ++row) {
    std::string bytes;
    numbers[row].resize(random() % 5);
    for (int64_t& n : numbers[row]) n = random();
    batch::AppendRaggedHeader(static_cast<uint32_t>(numbers[row].size()), &bytes);
    bytes.append(reinterpret_cast<const char*>(numbers[row].data()), numbers[row].size() * 8);
    strings[row].resize(random() % 4);
    for (std::string& s : strings[row]) s.assign(random() % 40, static_cast<char>('a' + random() % 26));
    batch::AppendRaggedHeader(static_cast<uint32_t>(strings[row].size()), &bytes);
    for (const std::string& s : strings[row]) batch::AppendRaggedHeader(static_cast<uint32_t>(s.size()), &bytes);
    for (const std::string& s : strings[row]) bytes += s;
    transport::SliceCursor cursor = Cursor(bytes, 1 + random() % 9);
    ASSERT_TRUE(builder->WriteRow(row, bytes.size(), &cursor).ok());
  }
  ASSERT_TRUE(builder->Seal(std::vector<RowId>(kRows), std::vector<uint8_t>(kRows, 1)).ok());
  const Batch batch = builder->Finish(0, 0, 0);
  const ColumnView& v = batch.column("v");
  const ColumnView& s = batch.column("s");
  size_t element = 0, word = 0;
  for (size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(v.row_splits()[row], static_cast<int64_t>(element));
    ASSERT_EQ(s.row_splits()[row], static_cast<int64_t>(word));
    for (const int64_t n : numbers[row]) ASSERT_EQ(v.data<int64_t>()[element++], n);
    for (const std::string& text : strings[row]) ASSERT_EQ(s.string(word++), text);
  }
  EXPECT_EQ(s.string_count(), word);
}

// Counts allocated blocks.
class CountingAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    ++out;
    return DefaultAllocator()->Allocate(bytes);
  }
  void Deallocate(void* memory, size_t bytes) override {
    --out;
    DefaultAllocator()->Deallocate(memory, bytes);
  }
  int out = 0;
};

TEST(BatchMemory, KeepsNoBlocksAfterClose) {
  CountingAllocator allocator;
  const auto memory = std::make_shared<BatchMemory>(&allocator, 1 << 20);
  { const BatchMemory::Block kept = memory->Allocate(4000); }
  EXPECT_EQ(allocator.out, 1);
  {
    const BatchMemory::Block held = memory->Allocate(8000);
    EXPECT_EQ(allocator.out, 2);
    memory->Close();
    EXPECT_EQ(allocator.out, 1);
  }
  EXPECT_EQ(allocator.out, 0);
}

TEST(BatchMemory, KeepsBlocksForTheNextBatchWithinItsLimit) {
  auto memory = std::make_shared<BatchMemory>(nullptr, 5000);
  const std::byte* first;
  {
    BatchMemory::Block a = memory->Allocate(4000);
    first = a.data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    EXPECT_GE(a.size(), 4000u);
    BatchMemory::Block b = memory->Allocate(4000);
    BatchMemory::Block moved = std::move(b);
    EXPECT_FALSE(b);  // NOLINT: moved from
    EXPECT_TRUE(moved);
  }
  BatchMemory::Block again = memory->Allocate(3990);
  EXPECT_TRUE(again);
  EXPECT_GE(memory->Allocate(0).size(), 1u);
  for (size_t bytes = 1; bytes < 1000000; bytes = bytes * 5 / 4 + 1) {
    EXPECT_GE(BatchMemory::Rounded(bytes), bytes);
    EXPECT_LE(BatchMemory::Rounded(bytes), bytes + std::max<size_t>(64, bytes / 8 + 1));
  }
}

}  // namespace
}  // namespace penstock::client
