#include "config/text_file.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/foreign_data.h"
#include "base/near_name.h"
#include "base/utf8.h"
#include "config/renamed.h"
#include "config/text_tokens.h"

namespace penstock::config {
namespace {

namespace pb = google::protobuf;

constexpr size_t kMaxMistakes = 50;
constexpr size_t kFewNames = 16;  // up to this number, all names are listed even if one is near

// Keeps the first error of one parse.
class FirstError final : public pb::io::ErrorCollector {
 public:
  struct Error {
    int line, column;
    std::string message;
  };
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (!error) error = Error{line, column, message};
  }
  std::optional<Error> error;
};

// Returns the tokens [first, last] of the field statement in which the parser failed at (line, column). `field` is the
// field's name if the parser reported it, otherwise "".
std::optional<std::pair<size_t, size_t>> StatementAt(const std::vector<Token>& tokens, int line, int column,
                                                     const std::string& field) {
  size_t at = tokens.size();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].line > line || (tokens[i].line == line && tokens[i].end_column > column)) {
      at = i;
      break;
    }
  }
  if (at == tokens.size()) return std::nullopt;
  // The field's name: the last identifier at or before the place that is followed by ':' or '{'.
  size_t name = at + 1;
  for (size_t i = at + 1; i-- > 0;) {
    const bool followed = i + 1 < tokens.size() && (tokens[i + 1].text == ":" || tokens[i + 1].text == "{");
    if (tokens[i].identifier && followed && (field.empty() || tokens[i].text == field)) {
      name = i;
      break;
    }
  }
  if (name > at) return std::nullopt;
  size_t last = name + 1;
  if (tokens[last].text == ":" && last + 1 < tokens.size()) ++last;
  if (tokens[last].text == "-" && last + 1 < tokens.size()) ++last;
  if (tokens[last].text == "{" || tokens[last].text == "[") {
    int depth = 0;
    for (; last < tokens.size(); ++last) {
      if (tokens[last].text == "{" || tokens[last].text == "[") ++depth;
      if (tokens[last].text == "}" || tokens[last].text == "]") --depth;
      if (depth == 0) break;
    }
    if (last == tokens.size()) return std::nullopt;  // a brace is missing: the text after it cannot be checked
  }
  return std::make_pair(name, last);
}

// Replaces the tokens by spaces and keeps all line numbers.
void Blank(const std::vector<Token>& tokens, size_t first, size_t last, std::string* text) {
  for (size_t i = first; i <= last; ++i) {
    const size_t begin = OffsetOf(*text, tokens[i].line, tokens[i].column);
    const size_t end = OffsetOf(*text, tokens[i].line, tokens[i].end_column);
    std::fill(text->begin() + static_cast<std::ptrdiff_t>(begin), text->begin() + static_cast<std::ptrdiff_t>(end),
              ' ');
  }
}

// Returns the field names of the message type that the parser's error names, for suggestions.
std::vector<std::string> NamesFor(const pb::Descriptor* root, const std::string& message) {
  std::vector<std::string> names;
  const auto quoted = [&](std::string_view before) -> std::string {
    const size_t at = message.find(before);
    if (at == std::string::npos) return "";
    const size_t start = at + before.size();
    return message.substr(start, message.find('"', start) - start);
  };
  const pb::DescriptorPool* pool = root->file()->pool();
  if (const std::string type = quoted("Message type \""); !type.empty()) {
    if (const pb::Descriptor* d = pool->FindMessageTypeByName(type)) {
      for (int i = 0; i < d->field_count(); ++i) names.push_back(d->field(i)->name());
    }
  }
  return names;
}

// The message that encloses a token.
struct Around {
  const pb::Descriptor* type = nullptr;  // null: the braces before the token are invalid
  std::string field;                     // field of the message; empty: the file itself
};

Around MessageAround(const pb::Descriptor* root, const std::vector<Token>& tokens, size_t at) {
  std::vector<Around> open = {{root, ""}};
  std::string field;
  for (size_t i = 0; i < at; ++i) {
    if (tokens[i].identifier) field = tokens[i].text;
    if (tokens[i].text == "{") {
      const pb::FieldDescriptor* f = open.back().type->FindFieldByName(field);
      if (f == nullptr || f->message_type() == nullptr) return {};
      open.push_back({f->message_type(), field});
    } else if (tokens[i].text == "}") {
      open.pop_back();
      if (open.empty()) return {};
    }
  }
  return open.back();
}

// Returns an unbalanced brace, if there is one. If a '}' is missing, assumes that a top-level field of the file which
// begins a line ends the open message before it.
std::optional<Mistake> LonelyBrace(const pb::Descriptor* root, const std::vector<Token>& tokens) {
  struct Open {
    std::string field;
    int line;
    const pb::Descriptor* type;  // null: unknown
  };
  std::vector<Open> open;
  std::optional<Mistake> missing;
  std::string field;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool begins = token.identifier && token.column == 0 && i + 1 < tokens.size() &&
                        (tokens[i + 1].text == "{" || tokens[i + 1].text == ":");
    const auto fits = [&] {
      return open.empty() || (open.back().type != nullptr && open.back().type->FindFieldByName(token.text) != nullptr);
    };
    if (begins && !missing && root->FindFieldByName(token.text) != nullptr && !fits()) {
      missing = Mistake{token.line + 1, token.text,
                        absl::StrCat("a '}' is missing before this: the '{' of '", open.back().field, "' in line ",
                                     open.back().line, " is still open")};
    }
    if (token.identifier) field = token.text;
    if (token.text == "{") {
      const pb::Descriptor* outer = open.empty() ? root : open.back().type;
      const pb::FieldDescriptor* f = outer == nullptr ? nullptr : outer->FindFieldByName(field);
      open.push_back({field, token.line + 1, f == nullptr ? nullptr : f->message_type()});
    } else if (token.text == "}") {
      if (open.empty()) return Mistake{token.line + 1, "", "a surplus '}': no '{' is open here"};
      open.pop_back();
    }
  }
  if (open.empty()) return std::nullopt;
  if (missing) return missing;
  return Mistake{open.back().line, open.back().field,
                 absl::StrCat("a '}' is missing: the '{' of '", open.back().field, "' in line ", open.back().line,
                              " is never closed")};
}

// Returns the enum of the field that the parser could not fill, in a message of this type.
const pb::EnumDescriptor* EnumOf(const pb::Descriptor* around, const std::string& field) {
  const pb::FieldDescriptor* f = around == nullptr ? nullptr : around->FindFieldByName(field);
  return f == nullptr ? nullptr : f->enum_type();
}

std::string QuotedAt(const std::string& text, size_t n) {
  size_t from = 0;
  for (size_t i = 0;; ++i) {
    const size_t open = text.find('"', from);
    if (open == std::string::npos) return "";
    const size_t close = text.find('"', open + 1);
    if (close == std::string::npos) return "";
    if (i == n) return text.substr(open + 1, close - open - 1);
    from = close + 1;
  }
}

// Returns where a field belongs that the file has at the top level: "seed" in order { }, "batch_size" in batch { }.
std::string InsideHint(const pb::Descriptor* root, const std::string& word) {
  for (int i = 0; i < root->field_count(); ++i) {
    const pb::FieldDescriptor* outer = root->field(i);
    if (outer->message_type() == nullptr || outer->is_repeated()) continue;
    for (int k = 0; k < outer->message_type()->field_count(); ++k) {
      const std::string& inner = outer->message_type()->field(k)->name();
      if (word != inner && word != absl::StrCat(outer->name(), "_", inner)) continue;
      return absl::StrCat(" (write ", outer->name(), " { ", inner, ": ... })");
    }
  }
  return "";
}

// Handles "0,5": the comma ends the field, and the parser reports a missing name of the next one.
std::string DecimalComma(const std::vector<Token>& tokens, int line, int column) {
  const auto number = [](const Token& token) {
    return token.text.find_first_not_of("0123456789") == std::string::npos;
  };
  for (size_t i = 2; i < tokens.size(); ++i) {
    if (tokens[i].line != line || tokens[i].column != column || tokens[i - 1].text != ",") continue;
    if (!number(tokens[i]) || !number(tokens[i - 2])) break;
    return absl::StrCat("use a decimal point: ", tokens[i - 2].text, ".", tokens[i].text);
  }
  return "";
}

// Returns a hint that names a similar field or value, or "".
std::string Hint(const std::string& word, const std::vector<std::string>& names) {
  const auto there = [&names](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (word == "size" && there("height") && there("width")) return " (write height: and width:)";
  return DidYouMean(word, names);
}

// Converts "Expected integer, got: many" to "a whole number is expected, not many". `field` and `value` are from the
// statement, "" if there is none.
std::string WhatIsExpected(const std::string& field, const std::string& value, absl::string_view message) {
  if (!absl::ConsumePrefix(&message, "Expected ")) return std::string(message);
  std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(message, absl::MaxSplits(", got: ", 1));
  auto& [wanted, got] = halves;
  if (got.empty()) {
    halves = absl::StrSplit(message, absl::MaxSplits(", found ", 1));
    absl::ConsumeSuffix(&got, ".");
    if (absl::ConsumePrefix(&got, "\"")) absl::ConsumeSuffix(&got, "\"");
  }
  std::string what(wanted);
  if (wanted == "integer") what = got == "-" ? "a whole number from 0 on" : "a whole number";
  if (wanted == "double" || wanted == "float") what = "a number";
  if (wanted == "string") what = "a text in quotes";
  if (wanted == "identifier") what = "a name";
  if (absl::ConsumePrefix(&wanted, "\"") && absl::ConsumeSuffix(&wanted, "\"")) what = absl::StrCat("'", wanted, "'");
  const bool negative = got == "-" && !value.empty();
  return absl::StrCat(what, " is expected, not ", negative ? absl::string_view(value) : got,
                      what == "'{'" && !field.empty() ? absl::StrCat(": ", field, " { ... }") : "");
}

// A word that the parser does not know, and the names that it may have there.
struct UnknownWord {
  std::string word;
  std::vector<std::string> names;
};

// Returns the unknown word that the parser's error names, if it names one.
std::optional<UnknownWord> UnknownWordOf(const pb::Descriptor* root, const Around& around, const std::string& message) {
  if (absl::StartsWith(message, "Message type") && absl::StrContains(message, "has no field named")) {
    return UnknownWord{QuotedAt(message, 1), NamesFor(root, message)};
  }
  if (!absl::StartsWith(message, "Unknown enumeration value of")) return std::nullopt;
  UnknownWord unknown{QuotedAt(message, 0), {}};
  if (const auto* type = EnumOf(around.type, QuotedAt(message, 1))) {
    for (int i = 0; i < type->value_count(); ++i) {
      if (!absl::EndsWith(type->value(i)->name(), "UNSPECIFIED")) unknown.names.push_back(type->value(i)->name());
    }
  }
  return unknown;
}

// Replaces a name of an earlier release, on which the parser failed, by the name of today. Returns false if there is
// none in the tokens [first, last].
bool Rename(const std::vector<Token>& tokens, size_t first, size_t last, const std::optional<UnknownWord>& unknown,
            std::string* text, std::vector<Mistake>* warnings) {
  const RenamedName* const renamed = unknown ? FindRenamed(unknown->word, unknown->names) : nullptr;
  if (renamed == nullptr) return false;
  for (size_t i = first; i <= last; ++i) {
    if (tokens[i].text != unknown->word) continue;
    text->replace(OffsetOf(*text, tokens[i].line, tokens[i].column), unknown->word.size(), std::string(renamed->now));
    warnings->push_back({tokens[i].line + 1, "", RenamedWarning(*renamed)});
    return true;
  }
  return false;
}

// Converts the parser's message to the user's terms, and suggests a similar valid name.
std::string Explain(const std::optional<UnknownWord>& unknown, const Around& around, const std::string& field_there,
                    const std::string& value_there, const std::string& message) {
  if (!unknown) return WhatIsExpected(field_there, value_there, message);
  const auto& [word, names] = *unknown;
  std::string hint = Hint(word, names);
  if (absl::StartsWith(message, "Unknown enumeration value of")) {
    return absl::StrCat("'", word, "' is not a value of '", QuotedAt(message, 1), "'; it is one of ",
                        absl::StrJoin(names, " | "), hint);
  }
  if (around.field.empty() && around.type != nullptr) {
    if (std::string inside = InsideHint(around.type, word); !inside.empty()) hint = std::move(inside);
  }
  const bool few = names.size() <= kFewNames;
  return absl::StrCat("there is no field '", word, "' ",
                      around.field.empty() ? "here" : absl::StrCat("in '", around.field, "'"), hint,
                      hint.empty() || few ? absl::StrCat("; there are: ", absl::StrJoin(names, ", ")) : "");
}

// Returns what a text is that cannot be a textproto, or "" if it may be one.
std::string WhatElseTextIs(std::string_view text) {
  if (const std::string_view kind = ConvertibleKind(text); !kind.empty()) {
    return absl::StrCat("this is ", std::string(kind), ", and a job or configuration file is expected; ",
                        ConvertHint("FILE"), ", and a job for them");
  }
  if (text.find('\0') != std::string_view::npos)
    return "this is no text; a job or configuration file is expected (`penstock init GLOB` writes a job for shards)";
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.find_first_of(",\t") < line.size() && line.find_first_of("#:{<[") > line.size())
    return "this is a table; a job or configuration file is expected (`penstock init FILE --source CSV` writes a job)";
  if (!text.starts_with('{')) return "";
  return "this is JSON; a job or configuration is written as `name: \"x\"` and `batch { size: 8 }`, without outer "
         "braces";
}

// Records the line of each field. Reports each string that is not UTF-8, because a receiver would reject the message.
void CollectLines(const pb::Message& message, const pb::TextFormat::ParseInfoTree& tree, const std::string& prefix,
                  FieldLines* lines, std::vector<Mistake>* mistakes) {
  const pb::Reflection* reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const int index = field->is_repeated() ? i : -1;
      const std::string path =
          absl::StrCat(prefix, field->name(), field->is_repeated() ? absl::StrCat("[", i, "]") : "");
      const auto location = tree.GetLocation(field, index);
      if (location.line >= 0) (*lines)[path] = location.line + 1;
      if (field->type() == pb::FieldDescriptor::TYPE_STRING && mistakes->size() < kMaxMistakes) {
        const std::string value = field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                                       : reflection->GetString(message, field);
        if (!IsUtf8(value)) mistakes->push_back({location.line + 1, path, "is not UTF-8 text"});
      }
      if (field->message_type() == nullptr) continue;
      if (const auto* nested = tree.GetTreeForNested(field, index)) {
        const pb::Message& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                        : reflection->GetMessage(message, field);
        CollectLines(inner, *nested, path + ".", lines, mistakes);
      }
    }
  }
}

}  // namespace

std::vector<Mistake> ParseText(std::string_view text, pb::Message* message, FieldLines* lines,
                               std::vector<Mistake>* warnings) {
  std::vector<Mistake> mistakes;
  std::string left(text);
  if (std::string other = WhatElseTextIs(text); !other.empty()) {
    message->Clear();
    lines->clear();
    return {{0, "", std::move(other)}};
  }
  for (;;) {
    message->Clear();
    lines->clear();
    FirstError errors;
    pb::TextFormat::ParseInfoTree tree;
    pb::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    parser.WriteLocationsTo(&tree);
    parser.SetRecursionLimit(32);
    pb::io::ArrayInputStream input(left.data(), static_cast<int>(left.size()));
    if (parser.Parse(&input, message)) {
      CollectLines(*message, tree, "", lines, &mistakes);
      break;
    }
    const auto error = errors.error.value_or(FirstError::Error{-1, 0, "not a textproto file"});
    bool whole = true;
    const std::vector<Token> tokens = Tokens(left, &whole);
    if (const auto lonely = LonelyBrace(message->GetDescriptor(), tokens); whole && lonely) {
      // The parser misinterprets the text after the brace.
      mistakes.push_back(*lonely);
      break;
    }
    // The parser checks an enum's value after it has read the next token, which may be on the next line and name
    // another field.
    const std::string field =
        absl::StartsWith(error.message, "Unknown enumeration value of") ? QuotedAt(error.message, 1) : "";
    const auto statement = StatementAt(tokens, error.line, error.column, field);
    const pb::Descriptor* root = message->GetDescriptor();
    const Around around = statement ? MessageAround(root, tokens, statement->first) : Around();
    const auto unknown = UnknownWordOf(root, around, error.message);
    if (statement && Rename(tokens, statement->first, statement->second, unknown, &left, warnings)) continue;
    const int line = statement && !field.empty() ? tokens[statement->first].line : error.line;
    const std::string name = statement ? tokens[statement->first].text : "";
    std::string value;
    for (size_t i = statement ? statement->first + 2 : 1; statement && i <= statement->second; ++i) {
      value += tokens[i].text;
    }
    const std::string comma = DecimalComma(tokens, error.line, error.column);
    mistakes.push_back({line + 1, name, comma.empty() ? Explain(unknown, around, name, value, error.message) : comma});
    if (!statement || mistakes.size() >= kMaxMistakes) break;
    Blank(tokens, statement->first, statement->second, &left);
  }
  SortMistakes(&mistakes);
  return mistakes;
}

void AddRules(const FieldLines& lines, std::vector<Mistake> rules, std::vector<Mistake>* mistakes) {
  const std::vector<Mistake> rejected = *mistakes;
  if (!rejected.empty() && lines.empty()) return;
  for (Mistake& rule : rules) {
    const std::string name = rule.field.substr(rule.field.rfind('.') + 1);
    const bool follows = std::any_of(rejected.begin(), rejected.end(), [&](const Mistake& mistake) {
      return mistake.field == name || mistake.field == rule.field;
    });
    if (follows) continue;
    rule.line = LineOf(lines, rule.field);
    mistakes->push_back(std::move(rule));
  }
  SortMistakes(mistakes);
}

void SortMistakes(std::vector<Mistake>* mistakes) {
  const auto place = [](const Mistake& m) { return m.line == 0 ? INT_MAX : m.line; };
  std::stable_sort(mistakes->begin(), mistakes->end(),
                   [&place](const Mistake& a, const Mistake& b) { return place(a) < place(b); });
}

int LineOf(const FieldLines& lines, std::string field) {
  while (!field.empty()) {
    if (const auto found = lines.find(field); found != lines.end()) return found->second;
    if (const auto first = lines.find(field + "[0]"); first != lines.end()) return first->second;
    const size_t dot = field.rfind('.');
    field = dot == std::string::npos ? "" : field.substr(0, dot);
  }
  return 0;
}

std::vector<std::string> MistakeLines(const std::string& file, const std::vector<Mistake>& mistakes) {
  std::vector<std::string> lines;
  for (const Mistake& mistake : mistakes) {
    lines.push_back(absl::StrCat(file, mistake.line > 0 ? absl::StrCat(":", mistake.line) : "", ": ", mistake.field,
                                 mistake.field.empty() ? "" : ": ", mistake.message));
  }
  return lines;
}

absl::Status MistakesToStatus(const std::string& file, const std::vector<Mistake>& mistakes) {
  if (mistakes.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(MistakeLines(file, mistakes), "\n"));
}

}  // namespace penstock::config
