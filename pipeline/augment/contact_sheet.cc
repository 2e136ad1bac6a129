#include "pipeline/augment/contact_sheet.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"
#include "pipeline/augment/row_plan.h"
#include "pipeline/image/formats/png.h"

namespace penstock {
namespace {

constexpr int kMargin = 300, kGap = 6, kHeader = 26, kLine = 18, kMaxSide = 20000;
constexpr double kTextScale = 0.42;

const cv::Scalar kInk(40, 40, 40), kFaint(130, 130, 130), kAlarm(30, 30, 200), kBox(60, 220, 60);
const cv::Scalar kTints[3] = {{40, 40, 255}, {255, 120, 40}, {40, 220, 255}};  // of the first masks

void Text(cv::Mat* sheet, int x, int y, const std::string& text, const cv::Scalar& color) {
  cv::putText(*sheet, text, {x, y}, cv::FONT_HERSHEY_SIMPLEX, kTextScale, color, 1, cv::LINE_AA);
}

// Cuts a text into lines of at most `width` characters, between words where it can; those after the first begin with
// `indent` spaces.
std::vector<std::string> Wrap(std::string text, size_t width, size_t indent = 0) {
  std::vector<std::string> lines;
  indent = std::min(indent, width / 2);
  size_t start = 0;  // of the words, behind the spaces
  while (start < text.size() && text[start] == ' ') ++start;
  while (text.size() > width) {
    const size_t space = text.rfind(' ', width);
    const size_t cut = space == std::string::npos || space <= start ? width : space;
    lines.push_back(text.substr(0, cut));
    text = std::string(indent, ' ') + text.substr(cut == space ? cut + 1 : cut);
    start = indent;
  }
  lines.push_back(std::move(text));
  return lines;
}

// A field of the op's message, as text without its braces.
std::string Settings(const google::protobuf::Message& message) {
  std::string settings = message.ShortDebugString();
  return settings.empty() ? "" : ": " + settings;
}

// An own op by its own name: "custom vignette: strength 0.6, shape round".
std::string DescribeCustom(const v1::Custom& custom) {
  std::map<std::string, std::string> parameters;
  for (const auto& [name, value] : custom.numbers()) parameters[name] = absl::StrCat(value);
  for (const auto& [name, value] : custom.texts()) parameters[name] = value;
  std::string text = absl::StrCat(" ", custom.op());
  const char* before = ": ";
  for (const auto& [name, value] : parameters) {
    absl::StrAppend(&text, before, name, " ", value);
    before = ", ";
  }
  return text;
}

// The op's lines in the margin: "1 random_resized_crop: height: 224 width: 224" is number, name, settings. Ops inside
// it follow, further to the right.
void Describe(const v1::Op& op, int number, const std::string& weight, size_t indent, std::vector<std::string>* lines) {
  const std::string name = OpName(op);
  const auto* field = name.empty() ? nullptr : v1::Op::descriptor()->FindFieldByName(name);
  if (field == nullptr) return;
  std::string line = absl::StrCat(std::string(indent, ' '), number, " ", name, weight);
  const google::protobuf::RepeatedPtrField<v1::Op>* children = nullptr;
  const google::protobuf::RepeatedField<float>* weights = nullptr;
  if (op.has_custom()) {
    absl::StrAppend(&line, DescribeCustom(op.custom()));
  } else if (op.has_random_apply()) {
    children = &op.random_apply().ops();
    if (op.random_apply().has_probability()) absl::StrAppend(&line, ": probability: ", op.random_apply().probability());
  } else if (op.has_one_of()) {
    children = &op.one_of().ops();
    weights = &op.one_of().weights();
  } else {
    absl::StrAppend(&line, Settings(op.GetReflection()->GetMessage(op, field)));
  }
  if (!op.column().empty()) absl::StrAppend(&line, " (column ", op.column(), ")");
  for (std::string& part : Wrap(std::move(line), 38, indent + 2)) lines->push_back(std::move(part));
  for (int i = 0; children != nullptr && i < children->size(); ++i) {
    const bool weighted = weights != nullptr && i < weights->size();
    Describe((*children)[i], i, weighted ? absl::StrCat(" x", (*weights)[i]) : "", indent + 3, lines);
  }
}

// Mixes a color into the pixels where the mask is not 0.
void Tint(const ImageView& mask, const cv::Scalar& color, cv::Mat* bgr) {
  const cv::Mat where(mask.height, mask.width, CV_8U, const_cast<uint8_t*>(mask.data), mask.stride);
  cv::Mat tinted;
  cv::addWeighted(*bgr, 0.5, cv::Mat(bgr->size(), bgr->type(), color), 0.5, 0, tinted);
  tinted.copyTo(*bgr, where);
}

class Sheet {
 public:
  Sheet(size_t rows, const SheetOptions& options)
      : cell_(options.cell),
        mat_(kHeader + static_cast<int>(rows) * (options.cell + kLine + kGap) + kGap,
             kMargin + (options.draws + 1) * (options.cell + kGap) + kGap, CV_8UC3, cv::Scalar(245, 245, 245)) {}

  void Margin(const std::vector<std::string>& lines) {
    int y = kHeader + kLine;
    for (const std::string& line : lines) {
      if (y > mat_.rows) break;
      Text(&mat_, kGap, y, line, kInk);
      y += kLine;
    }
  }
  void ColumnTitle(int column, const std::string& title) { Text(&mat_, Left(column), kLine, title, kFaint); }
  void Caption(size_t row, const std::string& caption) {
    Text(&mat_, Left(0), Top(row) + cell_ + kLine - 4, caption, kFaint);
  }
  void Error(size_t row, int column, const std::string& message) {
    int y = Top(row) + kLine;
    for (const std::string& line : Wrap(message, static_cast<size_t>(std::max(8, cell_ / 8)))) {
      if (y > Top(row) + cell_) break;
      Text(&mat_, Left(column), y, line, kAlarm);
      y += kLine;
    }
  }
  // With its boxes, where there are any, and its masks as a tint.
  void Picture(size_t row, int column, const ImageView& image, const AnnotationPlan& annotations,
               const Followers& followers) {
    const cv::Mat in(image.height, image.width, CV_MAKETYPE(CV_8U, image.channels), const_cast<uint8_t*>(image.data),
                     image.stride);
    cv::Mat bgr, scaled;
    cv::cvtColor(in, bgr, image.channels == 1 ? cv::COLOR_GRAY2BGR : cv::COLOR_RGB2BGR);
    for (size_t i = 0; i < followers.masks().size(); ++i) Tint(followers.masks()[i], kTints[i % 3], &bgr);
    const double scale = static_cast<double>(cell_) / std::max(image.width, image.height);
    const cv::Size size(std::clamp(static_cast<int>(image.width * scale), 1, cell_),
                        std::clamp(static_cast<int>(image.height * scale), 1, cell_));
    cv::resize(bgr, scaled, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_NEAREST);
    for (const Followers::Box& box : followers.boxes()) {
      if (!annotations.Keeps(box)) continue;
      const double x = 1.0 * size.width / image.width, y = 1.0 * size.height / image.height;
      cv::rectangle(scaled, cv::Point(static_cast<int>(box.x0 * x), static_cast<int>(box.y0 * y)),
                    cv::Point(static_cast<int>(box.x1 * x) - 1, static_cast<int>(box.y1 * y) - 1), kBox, 1);
    }
    scaled.copyTo(mat_(cv::Rect(Left(column), Top(row), size.width, size.height)));
  }
  absl::StatusOr<std::string> Png() const {
    cv::Mat rgb;
    cv::cvtColor(mat_, rgb, cv::COLOR_BGR2RGB);
    return EncodePng({rgb.data, rgb.cols, rgb.rows, 3, rgb.step});
  }

 private:
  int Left(int column) const { return kMargin + column * (cell_ + kGap); }
  int Top(size_t row) const { return kHeader + static_cast<int>(row) * (cell_ + kLine + kGap); }

  const int cell_;
  cv::Mat mat_;
};

absl::StatusOr<std::string> Render(const v1::JobSpec& job, const RowPlan& plan, const std::vector<SheetRecord>& records,
                                   const SheetOptions& options) {
  Sheet sheet(records.size(), options);
  std::vector<std::string> lines = {absl::StrCat("job ", job.name()), ""};
  for (int i = 0; i < job.ops_size(); ++i) Describe(job.ops(i), i, "", 0, &lines);
  sheet.Margin(lines);
  size_t steps = 0;
  for (const RowPlan::Step& step : plan.steps()) {
    if (step.column != static_cast<size_t>(plan.picture_column())) continue;
    if (!step.op->MakesImage()) break;
    ++steps;
  }
  const bool decodes = plan.image_column() >= 0;
  sheet.ColumnTitle(0, decodes ? "as decoded" : "as read");
  for (int d = 0; d < options.draws; ++d) sheet.ColumnTitle(d + 1, absl::StrCat("draw ", d));
  RowScratch scratch;
  for (size_t r = 0; r < records.size(); ++r) {
    sheet.Caption(r, records[r].caption);
    for (int column = 0; column <= options.draws; ++column) {
      SampleKey key = records[r].key;
      key.epoch += static_cast<uint64_t>(std::max(0, column - 1));
      scratch.impl().tools.arena.Reset(size_t{8} << 20);
      const auto image =
          plan.ComputeImage(records[r].bytes, key, column == 0 ? (decodes ? 1 : 0) : steps, /*strict=*/false,
                            /*follow=*/true, &scratch.impl());
      if (image.ok()) {
        sheet.Picture(r, column, *image, plan.annotations(), scratch.impl().followers);
      } else {
        sheet.Error(r, column, std::string(image.status().message()));
      }
    }
  }
  return sheet.Png();
}

}  // namespace

bool HasPictures(const v1::JobSpec& job) {
  std::vector<std::string> errors;
  const RowPlan plan = RowPlan::Create(job, &errors);
  return errors.empty() && plan.picture_column() >= 0;
}

absl::StatusOr<std::string> RenderContactSheet(const v1::JobSpec& job, const std::vector<SheetRecord>& records,
                                               const SheetOptions& options) {
  std::vector<std::string> errors;
  const RowPlan plan = RowPlan::Create(job, &errors);
  if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  if (plan.picture_column() < 0) {
    return absl::InvalidArgumentError(
        "the job has no pictures to show: no decode_image, and no feature of uint8 pixels (decode_raw: UINT8 with a "
        "shape "
        "of height, width and 1 or 3 channels)");
  }
  if (records.empty() || options.draws < 1 || options.cell < 16) {
    return absl::InvalidArgumentError("a contact sheet needs a record, a draw, and cells of 16 pixels or more");
  }
  const uint64_t side = static_cast<uint64_t>(options.cell) + kGap + kLine;
  if (records.size() > kMaxSide / side || static_cast<uint64_t>(options.draws) > (kMaxSide - kMargin) / side - 1) {
    return absl::InvalidArgumentError(absl::StrCat("a sheet of ", records.size(), " records and ", options.draws,
                                                   " draws is over ", kMaxSide,
                                                   " pixels; ask for fewer, or for smaller cells"));
  }
  try {
    return Render(job, plan, records, options);
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("OpenCV, drawing the contact sheet: ", e.what()));
  }
}

}  // namespace penstock
