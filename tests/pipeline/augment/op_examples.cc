#include "tests/pipeline/augment/op_examples.h"

#include "tests/pipeline/augment/row_maker.h"

namespace penstock {

const std::vector<OpExample>& OpExamples() {
  static const auto* const examples = new std::vector<OpExample>{
      {"decode_image", ""},
      {"decode_image", "channels: GRAY"},
      {"random_resized_crop", "height: 33 width: 41"},
      {"random_resized_crop", "height: 33 width: 41 filter: BICUBIC"},
      {"random_resized_crop", "height: 33 width: 41 resize: OPENCV_LINEAR"},
      {"random_resized_crop", "height: 33 width: 41 resize: OPENCV_AREA"},
      {"random_resized_crop", "height: 33 width: 41 resize: TF_BILINEAR"},
      {"resize", "height: 119 width: 37"},
      {"resize", "shorter_side: 50 filter: LANCZOS"},
      {"resize", "longer_side: 50 filter: HAMMING"},
      {"resize", "height: 20 width: 90 filter: BOX"},
      {"resize", "height: 20 width: 90 filter: NEAREST"},
      {"resize", "height: 119 width: 37 resize: OPENCV_LINEAR"},
      {"resize", "height: 31 width: 37 resize: OPENCV_AREA"},
      {"resize", "height: 119 width: 37 resize: TF_BILINEAR no_antialias: true"},
      {"center_crop", "height: 30 width: 120"},
      {"random_horizontal_flip", ""},
      {"cast", "to: FLOAT16"},
      {"normalize", "preset: 'imagenet' to: FLOAT32"},
      {"normalize", "preset: 'clip' to: BFLOAT16 channels_first: true"},
      {"random_crop", "height: 64 width: 64 padding: 8 pad_if_needed: true mode: REFLECT"},
      {"pad", "left: 3 top: 1 right: 2 bottom: 5 mode: SYMMETRIC"},
      {"random_vertical_flip", ""},
      {"rotate", "min_degrees: -30 max_degrees: 30"},
      {"rotate", "min_degrees: -30 max_degrees: 30 filter: NEAREST fill: 9"},
      {"affine",
       "min_degrees: -15 max_degrees: 15 translate_x: 0.1 translate_y: 0.1 scale_min: 0.7 scale_max: 1.4 "
       "min_shear_x_degrees: -10 max_shear_x_degrees: 10"},
      {"perspective", "probability: 1"},
      {"perspective", "probability: 1 filter: NEAREST"},
      {"zoom_out", "probability: 1 scale_max: 2"},
      {"five_crop", "height: 16 width: 24"},
      {"ten_crop", "height: 16 width: 24"},
      {"brightness", "min: 0.4 max: 1.7"},
      {"contrast", "min: 0.4 max: 1.7"},
      {"saturation", "min: 0.4 max: 1.7"},
      {"hue", "min: -0.4 max: 0.4"},
      {"color_jitter", "brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1"},
      {"grayscale", ""},
      {"posterize", "bits: 3"},
      {"solarize", "threshold: 100"},
      {"invert", ""},
      {"equalize", ""},
      {"autocontrast", ""},
      {"sharpness", "min: 0 max: 3"},
      {"gamma", "min: 0.5 max: 2"},
      {"pca_lighting", ""},
      {"channel_shuffle", ""},
      {"gaussian_blur", "kernel_size: 23 sigma_min: 0.1 sigma_max: 5"},
      {"gaussian_noise", "sigma_min: 1 sigma_max: 20"},
      {"jpeg_distortion", "quality_min: 10 quality_max: 90"},
      {"random_erasing", "probability: 1 fill: PIXEL"},
      {"cutout", "size: 20 count: 2"},
      {"grid_mask", "unit_min: 20 unit_max: 40 max_rotation_degrees: 45 probability: 1"},
      {"auto_augment", ""},
      {"auto_augment", "policy: CIFAR10 filter: NEAREST"},
      {"auto_augment", "policy: SVHN fill: 128"},
      {"rand_augment", ""},
      {"rand_augment", "num_ops: 4 magnitude: 25 filter: NEAREST"},
      {"trivial_augment_wide", ""},
      {"augmix", ""},
      {"random_apply", "ops { random_resized_crop { height: 50 width: 50 } } ops { random_horizontal_flip { } }"},
      {"one_of", "ops { random_horizontal_flip { } } ops { resize { height: 31 width: 37 } } weights: 1 weights: 2"},
      {"scale", "factor: 0.01 offset: -1.5 to: FLOAT16"},
      {"one_hot", "classes: 10 smoothing: 0.1"},
  };
  return *examples;
}

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  const auto* oneof = v1::Op::descriptor()->FindOneofByName("op");
  for (int i = 0; i < oneof->field_count(); ++i) names.push_back(oneof->field(i)->name());
  return names;
}

v1::JobSpec ExampleJob(const OpExample& example) {
  const std::string op = example.name + " { " + example.text + " }";
  if (example.name == "one_hot") {
    return ParseJob("features { key: 'image/class/label' column: 'label' type: INT64 }\nops { column: 'label' " + op +
                    " }");
  }
  std::string text = "features { key: 'image/encoded' column: 'image' type: BYTES }\n";
  if (example.name != "decode_image") text += "ops { decode_image { } }\n";
  const std::string size = "ops { resize { height: 57 width: 61 filter: BICUBIC } }\n";
  const bool leaves_numbers = example.name == "cast" || example.name == "normalize" || example.name == "scale" ||
                              example.name == "five_crop" || example.name == "ten_crop";
  if (leaves_numbers) return ParseJob(text + size + "ops { " + op + " }");
  return ParseJob(text + "ops { " + op + " }\n" + size + "ops { normalize { preset: '" +
                  (example.text.find("GRAY") == std::string::npos ? "imagenet' } }" : "' mean: 0.4 std: 0.2 } }"));
}

}  // namespace penstock
