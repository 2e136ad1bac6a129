// tests/golden/messages-0.3.0.txt has messages as release 0.3.0 serializes them: for each RPC its request and its
// reply, and the facts of the store, with each field set to a value that its name determines. A line is the type and
// the bytes in hex. This release must read each field under its name, and write the same bytes.
//
// PENSTOCK_RECORD_MESSAGES=FILE writes the messages of this release to FILE, for the next golden file.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/hash.h"
#include "penstock/v1/control.pb.h"
#include "penstock/v1/data.pb.h"
#include "penstock/v1/store.pb.h"

namespace penstock::net {
namespace {

namespace pb = google::protobuf;

constexpr char kGolden[] = "tests/golden/messages-0.3.0.txt";
// Levels of messages inside messages. Ops contain ops without end.
constexpr int kMaxDepth = 6;

uint64_t NumberFor(const pb::FieldDescriptor& field) { return Hash64(field.full_name()) % 100 + 1; }

void SetField(pb::Message* message, const pb::FieldDescriptor& field, int depth);

// Sets each field; of a oneof the field at `chosen`, modulo their number.
void Fill(pb::Message* message, int depth, int chosen = 0) {
  const pb::Descriptor& type = *message->GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    const pb::OneofDescriptor* const oneof = field.real_containing_oneof();
    if (oneof != nullptr && oneof->field(chosen % oneof->field_count()) != &field) continue;
    SetField(message, field, depth);
  }
}

void SetField(pb::Message* message, const pb::FieldDescriptor& field, int depth) {
  const pb::Reflection& set = *message->GetReflection();
  const uint64_t number = NumberFor(field);
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth < kMaxDepth)
        Fill(list ? set.AddMessage(message, &field) : set.MutableMessage(message, &field), depth + 1);
      break;
    case pb::FieldDescriptor::CPPTYPE_STRING:
      list ? set.AddString(message, &field, field.name()) : set.SetString(message, &field, field.name());
      break;
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      list ? set.AddBool(message, &field, true) : set.SetBool(message, &field, true);
      break;
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const int value = field.enum_type()->value(field.enum_type()->value_count() - 1)->number();
      list ? set.AddEnumValue(message, &field, value) : set.SetEnumValue(message, &field, value);
      break;
    }
    case pb::FieldDescriptor::CPPTYPE_INT32:
      list ? set.AddInt32(message, &field, static_cast<int32_t>(number))
           : set.SetInt32(message, &field, static_cast<int32_t>(number));
      break;
    case pb::FieldDescriptor::CPPTYPE_INT64:
      list ? set.AddInt64(message, &field, static_cast<int64_t>(number))
           : set.SetInt64(message, &field, static_cast<int64_t>(number));
      break;
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      list ? set.AddUInt32(message, &field, static_cast<uint32_t>(number))
           : set.SetUInt32(message, &field, static_cast<uint32_t>(number));
      break;
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      list ? set.AddUInt64(message, &field, number) : set.SetUInt64(message, &field, number);
      break;
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      list ? set.AddFloat(message, &field, static_cast<float>(number))
           : set.SetFloat(message, &field, static_cast<float>(number));
      break;
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      list ? set.AddDouble(message, &field, static_cast<double>(number))
           : set.SetDouble(message, &field, static_cast<double>(number));
      break;
  }
}

// Returns the types that cross a connection, or that the store keeps.
std::vector<const pb::Descriptor*> SentTypes() {
  std::vector<const pb::Descriptor*> types{v1::StoreEvent::descriptor(), v1::StoredState::descriptor()};
  std::set<const pb::Descriptor*> seen;
  for (const pb::FileDescriptor* file :
       {v1::SubmitRequest::descriptor()->file(), v1::ClientMessage::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int k = 0; k < file->service(i)->method_count(); ++k) {
        for (const pb::Descriptor* type :
             {file->service(i)->method(k)->input_type(), file->service(i)->method(k)->output_type()}) {
          if (seen.insert(type).second) types.push_back(type);
        }
      }
    }
  }
  return types;
}

std::unique_ptr<pb::Message> NewMessage(const pb::Descriptor& type) {
  return std::unique_ptr<pb::Message>(pb::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

// Returns the number of messages that show all fields of the type's own oneof.
int Variants(const pb::Descriptor& type) {
  int most = 1;
  for (int i = 0; i < type.real_oneof_decl_count(); ++i) most = std::max(most, type.oneof_decl(i)->field_count());
  return most;
}

// Expects each set field to have the value that its name determines, and no field to be unknown.
void ExpectValues(const pb::Message& message, const std::string& where) {
  const pb::Reflection& get = *message.GetReflection();
  EXPECT_EQ(get.GetUnknownFields(message).field_count(), 0) << where << " has a field that this release does not know";
  std::vector<const pb::FieldDescriptor*> fields;
  get.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const std::string name = absl::StrCat(where, ".", field->name());
    const bool list = field->is_repeated();
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      ExpectValues(list ? get.GetRepeatedMessage(message, field, 0) : get.GetMessage(message, field), name);
    } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
      EXPECT_EQ(list ? get.GetRepeatedString(message, field, 0) : get.GetString(message, field), field->name()) << name;
    } else if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_ENUM) {
      const std::unique_ptr<pb::Message> expected(message.New());
      SetField(expected.get(), *field, kMaxDepth);
      const std::unique_ptr<pb::Message> alone(message.New());
      alone->CopyFrom(message);
      for (const pb::FieldDescriptor* other : fields) {
        if (other != field) alone->GetReflection()->ClearField(alone.get(), other);
      }
      EXPECT_EQ(alone->SerializeAsString(), expected->SerializeAsString()) << name;
    }
  }
}

TEST(RecordedMessages, ThisReleaseReadsEachFieldOf030AndWritesTheSameBytes) {
  const absl::StatusOr<std::string> golden = ReadWholeFile(kGolden);
  ASSERT_TRUE(golden.ok()) << golden.status();
  std::set<std::string> read;
  for (const absl::string_view line : absl::StrSplit(*golden, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    ASSERT_EQ(parts.size(), 2u) << line;
    const pb::Descriptor* const type = pb::DescriptorPool::generated_pool()->FindMessageTypeByName(parts[0]);
    ASSERT_NE(type, nullptr) << parts[0] << " is gone";
    const std::unique_ptr<pb::Message> message = NewMessage(*type);
    const std::string bytes = absl::HexStringToBytes(parts[1]);
    ASSERT_TRUE(message->ParseFromString(bytes)) << parts[0];
    ExpectValues(*message, parts[0]);
    EXPECT_EQ(message->SerializeAsString(), bytes) << parts[0];
    read.insert(parts[0]);
  }
  EXPECT_GT(read.size(), 40u);
}

TEST(RecordedMessages, TheRecorderSetsEachFieldOfThisRelease) {
  std::ostringstream lines;
  for (const pb::Descriptor* type : SentTypes()) {
    for (int chosen = 0; chosen < Variants(*type); ++chosen) {
      const std::unique_ptr<pb::Message> message = NewMessage(*type);
      Fill(message.get(), 0, chosen);
      ExpectValues(*message, type->full_name());
      lines << type->full_name() << ' ' << absl::BytesToHexString(message->SerializeAsString()) << '\n';
    }
  }
  EXPECT_GT(lines.str().size(), 1000u);
  if (const char* path = std::getenv("PENSTOCK_RECORD_MESSAGES"); path != nullptr) std::ofstream(path) << lines.str();
}

}  // namespace
}  // namespace penstock::net
