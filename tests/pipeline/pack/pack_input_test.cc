#include "pipeline/pack/pack_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/pipeline/pack/pack_testing.h"

namespace penstock::pack {
namespace {

using ::testing::HasSubstr;

// Hands `text` out in pieces of at most `piece` bytes.
PackInput InputOf(std::string text, size_t piece = 1 << 30) {
  return PackInput([text = std::move(text), piece, at = size_t{0}](char* out, size_t most) mutable {
    const size_t n = std::min({most, piece, text.size() - at});
    std::copy_n(text.data() + at, n, out);
    at += n;
    return absl::StatusOr<size_t>(n);
  });
}

TEST(PackInput, ReturnsTheFramesForReadsOfAnySize) {
  const std::string large(300'000, 'x');
  const std::string text = FrameText(1, "a record") + FrameText(2, "") + FrameText(1, large) + FrameText(3, "");
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 30}) {
    PackInput input = InputOf(text, piece);
    const auto first = input.Next();
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(first->type, PackFrame::Type::kRecord);
    EXPECT_EQ(first->body, "a record");
    EXPECT_EQ(input.Next()->type, PackFrame::Type::kFeatures);
    EXPECT_EQ(input.Next()->body, large);
    EXPECT_EQ(input.Next()->type, PackFrame::Type::kEnd);
  }
}

TEST(PackInput, InputThatEndsWithoutAnEndFrameIsCancelled) {
  const std::string frame = FrameText(1, "a record");
  for (size_t cut = 0; cut < 2 * frame.size(); ++cut) {
    PackInput input = InputOf((frame + frame).substr(0, cut), 5);
    absl::Status last;
    while (last.ok()) last = input.Next().status();
    EXPECT_TRUE(absl::IsCancelled(last)) << cut << ": " << last;
  }
}

TEST(PackInput, AGiveUpFrameCancelsTheInput) {
  PackInput input = InputOf(FrameText(1, "a record") + FrameText(4, "") + FrameText(1, "a record"));
  EXPECT_TRUE(input.Next().ok());
  EXPECT_TRUE(absl::IsCancelled(input.Next().status()));
}

TEST(PackInput, RejectsInvalidFrames) {
  EXPECT_THAT(std::string(InputOf(FrameText(6, "")).Next().status().message()), HasSubstr("type 6"));
  PackInput large = InputOf(Raw(PackInput::kMaxFrameBytes + 1) + Raw(uint32_t{1}));
  EXPECT_THAT(std::string(large.Next().status().message()), HasSubstr("1073741825 bytes"));
}

}  // namespace
}  // namespace penstock::pack
