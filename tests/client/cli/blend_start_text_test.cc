// The text of a job with a start in its blend: comments and other fields stay.
#include "client/cli/blend_start_text.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::cli {
namespace {

v1::BlendStart Start() {
  v1::BlendStart start;
  start.set_order(0x1f);
  start.set_epoch(2);
  start.set_position(7);
  start.set_epoch_rows(96);
  v1::SetStart* const set = start.add_sets();
  set->set_key("web");
  set->set_rows(150);
  set->set_order(~uint64_t{0});
  return start;
}

constexpr char kBlock[] =
    "  start {\n    order: 0x000000000000001f\n    epoch: 2\n    position: 7\n    epoch_rows: 96\n"
    "    sets { key: \"web\" rows: 150 order: 0xffffffffffffffff }\n  }\n";

TEST(WithBlendStart, AddsTheStartAtTheEndOfTheBlend) {
  EXPECT_EQ(WithBlendStart("name: 'x'  # a job\nblend { epoch_rows: 96 }\nbatch { size: 8 }\n", Start(), false),
            std::string("name: 'x'  # a job\nblend { epoch_rows: 96\n") + kBlock + "}\nbatch { size: 8 }\n");
  EXPECT_EQ(WithBlendStart("blend: <\n  batches: EXACT  # }\n>", Start(), true),
            std::string("blend: <\n  batches: EXACT  # }\n  epoch_rows: 96\n") + kBlock + ">");
}

// Braces, names and signs in strings and comments are none of the text's.
TEST(WithBlendStart, ReplacesAnEarlierStart) {
  const std::string text =
      "# blend { start { } }\nname: \"blend { \\\" start {\"\ndataset { name: 'blend' weight: 1 }\nblend {\n"
      "  change { at_rows: 5 weights { key: 'start' value: 1 } }\n  start {  # } of the first run\n    order: 0x1\n"
      "    sets { key: \"a}\" rows: 1 }\n  }\n  epoch_rows: 96  # rows\n}\n";
  const auto made = WithBlendStart(text, Start(), false);
  ASSERT_TRUE(made.has_value());
  v1::JobSpec before, after;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &before));
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(*made, &after)) << *made;
  *before.mutable_blend()->mutable_start() = Start();
  EXPECT_EQ(after.DebugString(), before.DebugString());
  EXPECT_NE(made->find("# rows"), std::string::npos);
  EXPECT_EQ(WithBlendStart(*made, Start(), false), made) << "once more changes nothing";
}

TEST(WithBlendStart, ReplacesTheSeparatorToo) {
  for (const char* text :
       {"blend { start { order: 1 }; epoch_rows: 96 }", "blend { start: { order: 1 }, epoch_rows: 96 }",
        "blend { epoch_rows: 96; start { order: 1 }; }"}) {
    const auto made = WithBlendStart(text, Start(), false);
    v1::JobSpec job;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(made.value_or("none"), &job)) << *made;
    EXPECT_EQ(job.blend().epoch_rows(), 96u);
    EXPECT_EQ(job.blend().start().position(), 7u);
  }
}

TEST(WithBlendStart, NeedsABlendWithItsBraces) {
  EXPECT_EQ(WithBlendStart("", Start(), false), std::nullopt);
  EXPECT_EQ(WithBlendStart("name: 'blend' dataset { name: 'blend' }", Start(), false), std::nullopt);
  EXPECT_EQ(WithBlendStart("blend {", Start(), false), std::nullopt);
}

}  // namespace
}  // namespace penstock::cli
