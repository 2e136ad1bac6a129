#include "pipeline/augment/contact_sheet.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"
#include "pipeline/augment/row_plan.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/batch/mix_rows.h"
#include "pipeline/image/formats/png.h"

namespace penstock::augment {
namespace {

constexpr int kMargin = 300, kGap = 6, kHeader = 26, kLine = 18, kMaxSide = 20000;
constexpr double kTextScale = 0.42;

const cv::Scalar kInk(40, 40, 40), kFaint(130, 130, 130), kAlarm(30, 30, 200), kBox(60, 220, 60);
const cv::Scalar kTints[3] = {{40, 40, 255}, {255, 120, 40}, {40, 220, 255}};  // for the first masks

void Text(cv::Mat* sheet, int x, int y, const std::string& text, const cv::Scalar& color) {
  cv::putText(*sheet, text, {x, y}, cv::FONT_HERSHEY_SIMPLEX, kTextScale, color, 1, cv::LINE_AA);
}

// Splits a text into lines of at most `width` characters, between words where possible. Lines after the first begin
// with `indent` spaces.
std::vector<std::string> Wrap(std::string text, size_t width, size_t indent = 0) {
  std::vector<std::string> lines;
  indent = std::min(indent, width / 2);
  size_t start = 0;  // start of the words, after the spaces
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

// Returns the settings of an op's message as text without braces.
std::string Settings(const google::protobuf::Message& message) {
  std::string settings = message.ShortDebugString();
  return settings.empty() ? "" : ": " + settings;
}

// Describes an own op by its registered name: "custom vignette: strength 0.6, shape round".
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

// Appends the op's lines for the margin: "1 random_resized_crop: height: 224 width: 224" is number, name and settings.
// Its inner ops follow with a larger indent.
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

// Mixes a color into the pixels whose mask value is not 0.
void Tint(const image::ImageView& mask, const cv::Scalar& color, cv::Mat* bgr) {
  const cv::Mat classes(mask.height, mask.width, mask.channels == 2 ? CV_16U : CV_8U, const_cast<uint8_t*>(mask.data),
                        mask.stride);
  const cv::Mat where = classes != 0;
  cv::Mat tinted;
  cv::addWeighted(*bgr, 0.5, cv::Mat(bgr->size(), bgr->type(), color), 0.5, 0, tinted);
  tinted.copyTo(*bgr, where);
}

uint64_t WidthOf(const SheetOptions& options) {
  const uint64_t column = static_cast<uint64_t>(options.cell) + kGap;
  return kMargin + (static_cast<uint64_t>(options.draws) + 1) * column + kGap;
}

uint64_t HeightOf(size_t rows, const SheetOptions& options) {
  return kHeader + rows * (static_cast<uint64_t>(options.cell) + kLine + kGap) + kGap;
}

class Sheet {
 public:
  Sheet(size_t rows, const SheetOptions& options)
      : cell_(options.cell),
        mat_(static_cast<int>(HeightOf(rows, options)), static_cast<int>(WidthOf(options)), CV_8UC3,
             cv::Scalar(245, 245, 245)) {}

  void Margin(const std::vector<std::string>& lines) {
    int y = kHeader + kLine;
    for (const std::string& line : lines) {
      if (y > mat_.rows) break;
      Text(&mat_, kGap, y, line, kInk);
      y += kLine;
    }
  }
  void ColumnTitle(int column, const std::string& title) { Text(&mat_, Left(column), kLine, title, kFaint); }
  void Caption(size_t row, const std::string& caption) { CellCaption(row, 0, caption); }
  void CellCaption(size_t row, int column, const std::string& caption) {
    Text(&mat_, Left(column), Top(row) + cell_ + kLine - 4, caption, kFaint);
  }
  void Error(size_t row, int column, const std::string& message) {
    int y = Top(row) + kLine;
    for (const std::string& line : Wrap(message, static_cast<size_t>(std::max(8, cell_ / 8)))) {
      if (y > Top(row) + cell_) break;
      Text(&mat_, Left(column), y, line, kAlarm);
      y += kLine;
    }
  }
  // Draws the picture with its boxes, if any, and its masks as tints.
  void Picture(size_t row, int column, const image::ImageView& image, const AnnotationPlan& annotations,
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
    return image::EncodePng({rgb.data, rgb.cols, rgb.rows, 3, rgb.step});
  }

 private:
  int Left(int column) const { return kMargin + column * (cell_ + kGap); }
  int Top(size_t row) const { return kHeader + static_cast<int>(row) * (cell_ + kLine + kGap); }

  const int cell_;
  cv::Mat mat_;
};

// Returns "mixup 0.37" or "cutmix 0.62", with the share of the row's own content, or "not mixed".
std::string DescribeDraw(const batch::MixDraw& draw) {
  if (draw.kind == batch::MixDraw::Kind::kNone) return "not mixed";
  return absl::StrFormat("%s %.2f", draw.kind == batch::MixDraw::Kind::kMixup ? "mixup" : "cutmix", draw.lambda);
}

// Computes the pictures and puts them into the sheet's cells.
class Pictures {
 public:
  Pictures(const v1::JobSpec& job, const RowPlan& plan, Sheet* sheet)
      : plan_(plan),
        sheet_(sheet),
        decodes_(plan.image_column() >= 0),
        mixes_(job.has_mix() && plan.schema().Find(batch::MixImageColumn(job.mix())) == plan.picture_column()) {
    for (const RowPlan::Step& step : plan.steps()) {
      if (step.column != static_cast<size_t>(plan.picture_column())) continue;
      if (!step.op->MakesImage()) break;
      ++steps_;
    }
  }
  bool decodes() const { return decodes_; }

  // Shows the picture as it is in the record.
  void Original(size_t row, const SheetRecord& record) {
    Show(row, 0, Compute(record.bytes, record.key, decodes_ ? 1 : 0));
  }

  void Draw(size_t row, int draw, const SheetRecord& record) {
    const std::optional<SheetPartner>* const partner =
        mixes_ && !record.partners.empty() ? &record.partners[static_cast<size_t>(draw)] : nullptr;
    SampleKey key = record.key;
    key.epoch += static_cast<uint64_t>(draw);
    if (partner == nullptr || !partner->has_value() || (*partner)->draw.kind == batch::MixDraw::Kind::kNone) {
      Show(row, draw + 1, Compute(record.bytes, key, steps_));
      if (partner != nullptr) sheet_->CellCaption(row, draw + 1, DescribeDraw(batch::MixDraw()));
      return;
    }
    sheet_->CellCaption(row, draw + 1, DescribeDraw((*partner)->draw));
    // The partner comes first, so that boxes and masks are those of the row itself.
    const auto theirs = Compute((*partner)->bytes, (*partner)->key, steps_);
    if (!theirs.ok()) return Show(row, draw + 1, theirs.status());
    std::vector<uint8_t> other = Packed(*theirs);
    const auto own = Compute(record.bytes, key, steps_);
    if (!own.ok()) return Show(row, draw + 1, own.status());
    std::vector<uint8_t> pixels = Packed(*own);
    if (pixels.size() != other.size()) return Show(row, draw + 1, absl::InternalError("its partner has another size"));
    Mix((*partner)->draw, *own, &pixels, &other);
    const auto row_bytes = static_cast<size_t>(own->width) * static_cast<size_t>(own->channels);
    Show(row, draw + 1, image::ImageView{pixels.data(), own->width, own->height, own->channels, row_bytes});
  }

 private:
  absl::StatusOr<image::ImageView> Compute(std::string_view bytes, const SampleKey& key, size_t steps) {
    scratch_.impl().tools.arena.Reset(size_t{8} << 20);
    return plan_.ComputeImage(bytes, key, steps, /*strict=*/false, /*follow=*/true, &scratch_.impl());
  }

  void Show(size_t row, int column, const absl::StatusOr<image::ImageView>& image) {
    if (image.ok()) {
      sheet_->Picture(row, column, *image, plan_.annotations(), scratch_.impl().followers);
    } else {
      sheet_->Error(row, column, std::string(image.status().message()));
    }
  }

  static std::vector<uint8_t> Packed(const image::ImageView& image) {
    const size_t row = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
    std::vector<uint8_t> bytes(row * static_cast<size_t>(image.height));
    for (int y = 0; y < image.height; ++y) {
      std::memcpy(bytes.data() + static_cast<size_t>(y) * row, image.data + static_cast<size_t>(y) * image.stride, row);
    }
    return bytes;
  }

  static void Mix(const batch::MixDraw& draw, const image::ImageView& like, std::vector<uint8_t>* own,
                  std::vector<uint8_t>* other) {
    auto* const a = reinterpret_cast<std::byte*>(own->data());
    auto* const b = reinterpret_cast<std::byte*>(other->data());
    if (draw.kind == batch::MixDraw::Kind::kMixup)
      return batch::Blend(batch::DType::kUint8, own->size(), draw.lambda, a, b);
    batch::SwapBox({1, like.height, like.width, static_cast<size_t>(like.channels)}, draw.box, a, b);
  }

  const RowPlan& plan_;
  Sheet* const sheet_;
  const bool decodes_;
  const bool mixes_;  // whether the job mixes the displayed column
  size_t steps_ = 0;  // number of steps that make pictures
  RowScratch scratch_;
};

absl::StatusOr<std::string> Render(const v1::JobSpec& job, const RowPlan& plan, const std::vector<SheetRecord>& records,
                                   const SheetOptions& options) {
  Sheet sheet(records.size(), options);
  std::vector<std::string> lines = {absl::StrCat("job ", job.name()), ""};
  for (int i = 0; i < job.ops_size(); ++i) Describe(job.ops(i), i, "", 0, &lines);
  if (job.has_mix()) {
    for (std::string& line : Wrap(absl::StrCat("mix", Settings(job.mix())), 38, 2)) lines.push_back(std::move(line));
  }
  sheet.Margin(lines);
  Pictures pictures(job, plan, &sheet);
  sheet.ColumnTitle(0, pictures.decodes() ? "as decoded" : "as read");
  for (int d = 0; d < options.draws; ++d)
    sheet.ColumnTitle(d + 1, absl::StrCat("draw ", d, job.has_mix() ? ", mixed" : ""));
  for (size_t r = 0; r < records.size(); ++r) {
    sheet.Caption(r, records[r].caption);
    pictures.Original(r, records[r]);
    for (int d = 0; d < options.draws; ++d) pictures.Draw(r, d, records[r]);
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
  for (const SheetRecord& record : records) {
    if (record.partners.empty() || record.partners.size() == static_cast<size_t>(options.draws)) continue;
    return absl::InvalidArgumentError("a record of a contact sheet has a partner for each draw, or none at all");
  }
  if (records.empty() || options.draws < 1 || options.cell < 16) {
    return absl::InvalidArgumentError("a contact sheet needs a record, a draw, and cells of 16 pixels or more");
  }
  if (std::max(WidthOf(options), HeightOf(records.size(), options)) > kMaxSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sheet of ", records.size(), " records and ", options.draws, " draws is ", WidthOf(options),
                     " x ", HeightOf(records.size(), options), " pixels, and a side has at most ", kMaxSide,
                     "; ask for fewer records or draws, or for smaller cells"));
  }
  try {
    return Render(job, plan, records, options);
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("OpenCV, drawing the contact sheet: ", e.what()));
  }
}

}  // namespace penstock::augment
