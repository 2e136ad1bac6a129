# Functions for run: they find or create the peers' programs and data. Need $root and die().
#
# Each peer has its own virtual environment in ${XDG_CACHE_HOME:-~/.cache}/penstock/peers, which its first use creates. The
# environment of `./run test-frameworks` has PyTorch, TensorFlow, datasets and webdataset. If it exists, these peers use it unchanged.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/peers
frameworks=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/frameworks/$(sha256sum <"$root/tests/frameworks/requirements.txt" | cut -c1-16)
[ -e "$frameworks/complete" ] || frameworks=

# environment NAME MODULE PACKAGE...: prints the Python of an environment. If pip cannot install, reports the reason and fails.
environment() {
  local folder=$cache/$1 module=$2; shift 2
  if ! "$folder/bin/python" -c "import $module" 2>/dev/null; then
    echo "Installing $* into $folder" >&2
    mkdir -p "$cache"
    python3 -m venv "$folder" || { echo "python3 -m venv failed: apt-get install python3-venv" >&2; return 1; }
    [ -z "${beside:-}" ] || echo "$beside" >"$folder/lib/$(cd "$folder/lib" && echo python3*)/site-packages/beside.pth"
    "$folder/bin/pip" install -q --no-cache-dir "$@" >&2 || { echo "pip could not install $* (above)" >&2; return 1; }
  fi
  echo "$folder/bin/python"
}

# Like environment, with PyTorch: that of the frameworks' environment if it exists, otherwise a separate one.
environment_with_torch() {
  if [ -n "$frameworks" ]; then
    beside=$("$frameworks/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') environment "$@"
  else
    environment "$@" torch torchvision
  fi
}

# Like environment, but prints the Python of the frameworks' environment if it exists.
of_frameworks() { if [ -n "$frameworks" ]; then echo "$frameworks/bin/python"; else environment "$@"; fi; }

tensorflow_python() { of_frameworks venv tensorflow 'tensorflow-cpu==2.21.*'; }

torch_python() { of_frameworks torch torchvision torch torchvision; }

datasets_python() { of_frameworks datasets datasets,pyarrow datasets pyarrow; }

webdataset_python() { of_frameworks webdataset webdataset,torchvision webdataset torch torchvision; }

parquet_python() { of_frameworks parquet datasets,pyarrow,torchvision datasets pyarrow torch torchvision; }

dali_python() { environment_with_torch dali nvidia.dali,torch nvidia-dali-cuda120; }

grain_python() { environment grain grain,PIL grain pillow; }

# SPDL does not include FFmpeg.
spdl_python() {
  /sbin/ldconfig -p | grep libavfilter >/dev/null || { echo "SPDL needs FFmpeg's libraries: apt-get install ffmpeg" >&2; return 1; }
  environment spdl spdl.io spdl spdl-io
}

# FFCV has no wheels, so this compiles it against turbojpeg and OpenCV. It uses only imgproc of OpenCV, which Penstock's build
# has, but it includes the header of all modules and asks pkg-config for all.
ffcv_python() {
  if [ -e "$cache/ffcv/bin/python" ] && "$cache/ffcv/bin/python" -c 'import ffcv' 2>/dev/null; then
    echo "$cache/ffcv/bin/python"
    return
  fi
  pkg-config --exists libturbojpeg || { echo "FFCV needs turbojpeg: apt-get install libturbojpeg0-dev" >&2; return 1; }
  local own=$cache/ffcv-pkgconfig flags=
  if ! pkg-config --exists opencv4; then
    mkdir -p "$own"
    printf '%s\n' 'Name: OpenCV' 'Description: imgproc' 'Version: 4' 'Libs: -lopencv_imgproc -lopencv_core' \
      'Cflags: -I/usr/include/opencv4' >"$own/opencv4.pc"
    flags='-DOPENCV_ALL_HPP -include opencv2/imgproc.hpp'
  fi
  PKG_CONFIG_PATH=$own CFLAGS=$flags environment_with_torch ffcv ffcv 'ffcv==1.0.*'
}

# tfrecord_shards PHOTOS RECORDS: makes a folder of eight shards once, and reads it into the page cache.
tfrecord_shards() {
  local shards=$cache/shards-$2
  [ -e "$shards/photos-00007-of-00008" ] ||
    "$(tensorflow_python)" "$root/bench/peers/tf_data_service.py" make --photos "$1" --out "$shards" --records "$2" >&2 ||
    return 1
  cat "$shards"/* "$1"/*.JPEG >/dev/null
  echo "$shards"
}

# made PATH PYTHON SCRIPT KIND ARGUMENT...: makes an input once (SCRIPT KIND PATH ARGUMENT...), and reads it into the page cache.
made() {
  [ -e "$1" ] || {
    rm -rf "$1.part"
    PYTHONPATH=$root/client/python "$2" "$root/bench/peers/$3" "$4" "$1.part" "${@:5}" >&2 || die "$3 $4 failed (above)"
    mv "$1.part" "$1"
  }
  find "$1" -type f -exec cat {} + >/dev/null
}
