#include "pipeline/batch/row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "penstock/v1/op.pb.h"

namespace penstock::batch {
namespace {

// The wire and saved files contain these numbers.
TEST(DType, NumbersAndNamesMatchTheJobFile) {
  const auto* names = v1::DataType_descriptor();
  for (int i = 0; i < names->value_count(); ++i) {
    const int number = names->value(i)->number();
    EXPECT_EQ(IsDType(number), number != v1::DATA_TYPE_UNSPECIFIED);
    if (!IsDType(number)) continue;
    std::string name = names->value(i)->name();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(DTypeName(static_cast<DType>(number)), name);
  }
  EXPECT_FALSE(IsDType(-1));
  EXPECT_FALSE(IsDType(v1::DataType_MAX + 1));
  EXPECT_EQ(DTypeName(static_cast<DType>(200)), "?");
}

TEST(DType, NumpyNamesEndInTheSize) {
  for (int number = 1; IsDType(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    const std::string descr(DTypeNpyDescr(dtype));
    if (dtype == DType::kBfloat16 || dtype == DType::kString) {
      EXPECT_EQ(descr, "");
    } else {
      EXPECT_EQ(descr.substr(2), std::to_string(DTypeSize(dtype)));
      EXPECT_EQ(descr[0], DTypeSize(dtype) == 1 ? '|' : '<');
    }
  }
  EXPECT_EQ(DTypeNpyDescr(DType::kFloat32), "<f4");
  EXPECT_EQ(DTypeNpyDescr(DType::kBool), "|b1");
}

TEST(DType, SizesAreBytesOfAnElement) {
  for (const DType one : {DType::kUint8, DType::kInt8, DType::kBool}) EXPECT_EQ(DTypeSize(one), 1u);
  for (const DType two : {DType::kUint16, DType::kInt16, DType::kFloat16, DType::kBfloat16}) {
    EXPECT_EQ(DTypeSize(two), 2u);
  }
  for (const DType four : {DType::kUint32, DType::kInt32, DType::kFloat32}) EXPECT_EQ(DTypeSize(four), 4u);
  for (const DType eight : {DType::kUint64, DType::kInt64, DType::kFloat64}) EXPECT_EQ(DTypeSize(eight), 8u);
  EXPECT_EQ(DTypeSize(DType::kString), 0u);
  EXPECT_EQ(DTypeSize(static_cast<DType>(200)), 0u);
}

TEST(RowSchema, KnowsItsColumnsAndTheirFixedBytes) {
  RowSchema schema;
  schema.columns.push_back({"image", DType::kFloat16, false, {2, 3, 3}});
  schema.columns.push_back({"label", DType::kInt64, false, {}});
  schema.columns.push_back({"boxes", DType::kFloat32, true, {4}});
  schema.columns.push_back({"name", DType::kString, true, {}, true});
  EXPECT_EQ(schema.columns[0].Bytes(), 36u);
  EXPECT_EQ(schema.columns[1].Bytes(), 8u);
  EXPECT_EQ(schema.columns[2].Bytes(), 16u);  // bytes of one element
  EXPECT_EQ(schema.columns[3].Bytes(), 0u);
  EXPECT_EQ(schema.FixedBytes(), 44u);
  EXPECT_EQ(schema.Find("boxes"), 2);
  EXPECT_EQ(schema.Find("box"), -1);
}

TEST(RowSlot, ARaggedHeaderIsALittleEndianCount) {
  std::string bytes = "x";
  AppendRaggedHeader(0x01020304, &bytes);
  EXPECT_EQ(bytes, std::string("x\x04\x03\x02\x01"));
}

}  // namespace
}  // namespace penstock::batch
