#include "pipeline/image/adjust.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "pipeline/image/color.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

using Pixels = std::vector<uint8_t>;
using Change = std::function<void(const ImageView&, ImageTarget)>;

ImageView View(const Pixels& pixels, int width, int height, int channels) {
  return {pixels.data(), width, height, channels, static_cast<size_t>(width) * static_cast<size_t>(channels)};
}

constexpr int kAdjustWidth = 67, kAdjustHeight = 41;

Pixels Apply(const Change& change, const Pixels& in, int channels) {
  Pixels out(in.size());
  const ImageView view = View(in, kAdjustWidth, kAdjustHeight, channels);
  change(view, {out.data(), view.stride});
  return out;
}

Pixels Picture(int channels) { return MakePixels(kAdjustWidth, kAdjustHeight, channels, 3); }

TEST(Adjust, IdentitiesChangeNothing) {
  const std::pair<const char*, Change> identities[] = {
      {"posterize 8", [](auto& in, auto out) { Posterize(in, 8, out); }},
      {"solarize 256", [](auto& in, auto out) { Solarize(in, 256, out); }},
      {"brightness 1", [](auto& in, auto out) { AdjustBrightness(in, 1, out); }},
      {"contrast 1", [](auto& in, auto out) { AdjustContrast(in, 1, out); }},
      {"saturation 1", [](auto& in, auto out) { AdjustSaturation(in, 1, out); }},
      {"sharpness 1", [](auto& in, auto out) { AdjustSharpness(in, 1, out); }},
      {"gamma 1", [](auto& in, auto out) { AdjustGamma(in, 1, out); }},
      {"add 0",
       [](auto& in, auto out) {
         AddToChannels(in, (const float[3]){0, 0, 0}, out);
       }},
      {"shuffle 0 1 2",
       [](auto& in, auto out) {
         ShuffleChannels(in, (const int[3]){0, 1, 2}, out);
       }},
  };
  for (const int channels : {1, 3}) {
    const Pixels in = Picture(channels);
    for (const auto& [name, change] : identities) EXPECT_EQ(Apply(change, in, channels), in) << name << channels;
  }
}

TEST(Adjust, InvertingTwiceRestoresTheImage) {
  const auto invert = [](const ImageView& in, ImageTarget out) { Invert(in, out); };
  for (const int channels : {1, 3}) {
    const Pixels in = Picture(channels);
    const Pixels once = Apply(invert, in, channels);
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(once[i], 255 - in[i]);
    EXPECT_EQ(Apply(invert, once, channels), in);
  }
}

TEST(Adjust, FactorZeroIsTheDegenerateImage) {
  const Pixels in = Picture(3);
  EXPECT_EQ(Apply([](auto& v, auto out) { AdjustBrightness(v, 0, out); }, in, 3), Pixels(in.size(), 0));
  const Pixels flat = Apply([](auto& v, auto out) { AdjustContrast(v, 0, out); }, in, 3);
  EXPECT_EQ(flat, Pixels(in.size(), flat[0]));
  EXPECT_EQ(Apply([](auto& v, auto out) { AdjustSaturation(v, 0, out); }, in, 3),
            Apply([](auto& v, auto out) { ToGrayscale(v, out); }, in, 3));
}

TEST(Adjust, GrayscaleIsPillowsLumaInEveryChannel) {
  const Pixels in = Picture(3);
  const Pixels gray = Apply([](auto& v, auto out) { ToGrayscale(v, out); }, in, 3);
  for (size_t i = 0; i < in.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) ASSERT_EQ(gray[i + c], Luma(in[i], in[i + 1], in[i + 2]));
  }
}

TEST(Adjust, ColorOpsLeaveGrayImagesUnchanged) {
  const Pixels in = Picture(1);
  const Change changes[] = {
      [](auto& v, auto out) { AdjustSaturation(v, 0.3f, out); },
      [](auto& v, auto out) { ToGrayscale(v, out); },
      [](auto& v, auto out) { AdjustHue(v, 0.3, out); },
      [](auto& v, auto out) {
        ShuffleChannels(v, (const int[3]){2, 1, 0}, out);
      },
  };
  for (const Change& change : changes) EXPECT_EQ(Apply(change, in, 1), in);
}

TEST(Adjust, GrayImagesGiveTheValuesOfThreeEqualChannels) {
  // A gray image's result equals that of the same gray in three channels.
  const Pixels gray = Picture(1);
  Pixels rgb;
  for (const uint8_t value : gray) rgb.insert(rgb.end(), 3, value);
  const Change changes[] = {
      [](auto& v, auto out) { Posterize(v, 3, out); },
      [](auto& v, auto out) { Solarize(v, 100, out); },
      [](auto& v, auto out) { Equalize(v, out); },
      [](auto& v, auto out) { Autocontrast(v, out); },
      [](auto& v, auto out) { AdjustBrightness(v, 1.4f, out); },
      [](auto& v, auto out) { AdjustContrast(v, 1.7f, out); },
      [](auto& v, auto out) { AdjustSharpness(v, 1.9f, out); },
      [](auto& v, auto out) { AdjustGamma(v, 0.6, out); },
  };
  for (const Change& change : changes) {
    const Pixels of_gray = Apply(change, gray, 1), of_rgb = Apply(change, rgb, 3);
    for (size_t i = 0; i < gray.size(); ++i) {
      for (size_t c = 0; c < 3; ++c) ASSERT_EQ(of_rgb[3 * i + c], of_gray[i]);
    }
  }
}

TEST(Adjust, WorksInPlaceAndInsideAnotherImage) {
  const Change changes[] = {
      [](auto& v, auto out) { Posterize(v, 3, out); },
      [](auto& v, auto out) { Equalize(v, out); },
      [](auto& v, auto out) { Autocontrast(v, out); },
      [](auto& v, auto out) { AdjustBrightness(v, 0.4f, out); },
      [](auto& v, auto out) { AdjustContrast(v, 2, out); },
      [](auto& v, auto out) { AdjustSaturation(v, 2, out); },
      [](auto& v, auto out) { ToGrayscale(v, out); },
      [](auto& v, auto out) { AdjustHue(v, 0.2, out); },
      [](auto& v, auto out) {
        ShuffleChannels(v, (const int[3]){1, 2, 0}, out);
      },
  };
  for (const Change& change : changes) {
    const Pixels in = Picture(3);
    const ImageView part = View(in, kAdjustWidth, kAdjustHeight, 3).Crop({5, 3, 33, 20});
    Pixels dense(33 * 20 * 3);
    change(part, {dense.data(), 33 * 3});
    Pixels place = in;
    const ImageView inside = View(place, kAdjustWidth, kAdjustHeight, 3).Crop({5, 3, 33, 20});
    change(inside, {place.data() + (inside.data - place.data()), inside.stride});
    for (size_t y = 0; y < kAdjustHeight; ++y) {
      for (size_t x = 0; x < kAdjustWidth * 3; ++x) {
        const bool is_inside = y >= 3 && y < 23 && x >= 15 && x < 15 + 99;
        ASSERT_EQ(place[y * kAdjustWidth * 3 + x],
                  is_inside ? dense[(y - 3) * 99 + x - 15] : in[y * kAdjustWidth * 3 + x]);
      }
    }
  }
}

TEST(Adjust, EqualizeSpreadsAndAutocontrastStretches) {
  Pixels in = Picture(3);
  for (uint8_t& value : in) value = static_cast<uint8_t>(100 + value / 8);
  for (const Change& change :
       {Change([](auto&v, auto out) { Equalize(v, out); }), Change([](auto&v, auto out) { Autocontrast(v, out); })}) {
    const Pixels out = Apply(change, in, 3);
    EXPECT_EQ(*std::min_element(out.begin(), out.end()), 0);
    EXPECT_EQ(*std::max_element(out.begin(), out.end()), 255);
  }
  // With only one value there is nothing to stretch.
  const Pixels flat(in.size(), 77);
  EXPECT_EQ(Apply([](auto& v, auto out) { Equalize(v, out); }, flat, 3), flat);
  EXPECT_EQ(Apply([](auto& v, auto out) { Autocontrast(v, out); }, flat, 3), flat);
}

TEST(Adjust, GammaIsTheRoundedPower) {
  Pixels in(256);
  for (size_t i = 0; i < 256; ++i) in[i] = static_cast<uint8_t>(i);
  for (const double gamma : {0.25, 0.7, 1.5, 3.0}) {
    Pixels out(256);
    AdjustGamma(View(in, 256, 1, 1), gamma, {out.data(), 256});
    for (size_t i = 0; i < 256; ++i) {
      ASSERT_NEAR(out[i], 255 * std::pow(static_cast<double>(i) / 255, gamma), 0.5 + 1e-9) << gamma;
    }
  }
}

TEST(Adjust, AddRoundsAndSaturates) {
  const Pixels in = {0, 100, 255, 250, 3, 9};
  Pixels out(6);
  AddToChannels(View(in, 2, 1, 3), (const float[3]){7.5f, -4.2f, 1e9f}, {out.data(), 6});
  EXPECT_EQ(out, (Pixels{8, 96, 255, 255, 0, 255}));
}

// The steps of Convert.c exactly as written there, for every color of a grid and every hue.
struct Hsv {
  uint8_t h, s, v;
};

// rgb2hsv_row: float32 where it has float, double where a literal makes the expression double.
Hsv ToHsv(int r, int g, int b) {
  const int high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
  if (high == low) return {0, 0, static_cast<uint8_t>(high)};
  const float range = static_cast<float>(high - low);
  const float s = range / static_cast<float>(high);
  const float rc = static_cast<float>(high - r) / range;
  const float gc = static_cast<float>(high - g) / range;
  const float bc = static_cast<float>(high - b) / range;
  float h;
  if (r == high) {
    h = bc - gc;
  } else if (g == high) {
    h = static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
  } else {
    h = static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
  }
  const double turned = static_cast<double>(h) / 6.0 + 1.0;  // in [5/6, 2)
  h = static_cast<float>(turned - std::floor(turned));
  return {static_cast<uint8_t>(static_cast<int>(static_cast<double>(h) * 255.0)),
          static_cast<uint8_t>(static_cast<int>(static_cast<double>(s) * 255.0)), static_cast<uint8_t>(high)};
}

// hsv2rgb.
void FromHsv(const Hsv& hsv, uint8_t* rgb) {
  if (hsv.s == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.v;
    return;
  }
  const double six = static_cast<double>(static_cast<float>(hsv.h)) * 6.0 / 255.0;
  const int sector = static_cast<int>(std::floor(six));
  const float f = static_cast<float>(six - static_cast<double>(static_cast<float>(sector)));
  const float fs = static_cast<float>(static_cast<double>(static_cast<float>(hsv.s)) / 255.0);
  const double value = static_cast<double>(static_cast<float>(hsv.v));
  const auto share = [&](double part) { return static_cast<uint8_t>(std::floor(value * part + 0.5)); };
  const uint8_t p = share(1.0 - static_cast<double>(fs));
  const uint8_t q = share(1.0 - static_cast<double>(fs * f));
  const uint8_t t = share(1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(f)));
  const uint8_t v = hsv.v;
  const uint8_t table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  std::memcpy(rgb, table[sector % 6], 3);
}

TEST(Adjust, TheHueMatchesPillowsConversion) {
  std::vector<uint8_t> colors;
  SampleRandom random(1, 2, 3);
  for (int i = 0; i < 3 * 200000; ++i) {
    // Includes many equal channels and ends of the range.
    const uint32_t draw = random.Below(8);
    const uint8_t any = static_cast<uint8_t>(random.Below(256));
    colors.push_back(draw == 0 ? 0 : draw == 1 ? 255 : draw == 2 && !colors.empty() ? colors.back() : any);
  }
  const int pixels = static_cast<int>(colors.size() / 3);
  std::vector<uint8_t> turned(colors.size());
  for (const int shift : {0, 1, 25, 128, 255}) {
    AdjustHue({colors.data(), pixels, 1, 3, colors.size()}, shift <= 127 ? shift / 255.0 : (shift - 256) / 255.0,
              {turned.data(), turned.size()});
    int unlike = 0;
    for (size_t i = 0; i < colors.size(); i += 3) {
      Hsv hsv = ToHsv(colors[i], colors[i + 1], colors[i + 2]);
      hsv.h = static_cast<uint8_t>(hsv.h + shift);
      uint8_t expected[3];
      FromHsv(hsv, expected);
      unlike += std::memcmp(expected, &turned[i], 3) != 0 ? 1 : 0;
    }
    EXPECT_EQ(unlike, 0) << shift;
  }
}

TEST(Adjust, ShuffleReordersTheChannels) {
  const Pixels in = {1, 2, 3, 4, 5, 6};
  Pixels out(6);
  ShuffleChannels(View(in, 2, 1, 3), (const int[3]){2, 0, 1}, {out.data(), 6});
  EXPECT_EQ(out, (Pixels{3, 1, 2, 6, 4, 5}));
}

}  // namespace
}  // namespace penstock::image
