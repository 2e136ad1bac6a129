#include "config/text_tokens.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace penstock::config {
namespace {

namespace pb = google::protobuf;

class AnyError final : public pb::io::ErrorCollector {
 public:
  void AddError(int, pb::io::ColumnNumber, const std::string&) override { any = true; }
  bool any = false;
};

}  // namespace

std::vector<Token> Tokens(std::string_view text, bool* whole) {
  pb::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  AnyError errors;
  pb::io::Tokenizer tokenizer(&input, &errors);
  tokenizer.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  tokenizer.set_allow_f_after_float(true);
  std::vector<Token> tokens;
  while (tokenizer.Next()) {
    const auto& t = tokenizer.current();
    tokens.push_back({t.text, t.line, t.column, t.end_column, t.type == pb::io::Tokenizer::TYPE_IDENTIFIER});
  }
  if (whole != nullptr) *whole = !errors.any;
  return tokens;
}

size_t OffsetOf(std::string_view text, int line, int column) {
  size_t offset = 0;
  for (int i = 0; i < line; ++i) offset = text.find('\n', offset) + 1;
  for (int at = 0; offset < text.size() && text[offset] != '\n' && at < column; ++offset) {
    at += text[offset] == '\t' ? 8 - at % 8 : 1;
  }
  return offset;
}

}  // namespace penstock::config
