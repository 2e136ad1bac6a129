# A function for the benchmarks: standard_job NAME SHARDS_FOLDER BATCH prints a job of the standard recipe, uint8, on shards with
# image/encoded and image/class/label.
standard_job() {
  cat <<END
name: "$1"
dataset { files: "$2/*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 224 width: 224 } }
ops { random_horizontal_flip { probability: 0.5 } }
order { seed: 17 }
batch { size: $3 last: DROP }
END
}
