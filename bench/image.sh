#!/usr/bin/env bash
# CPU time of the image path on one thread, against OpenCV's and Pillow's, on a folder of photographs: a table with ratios.
#   bench/image.sh [FOLDER] [image_bench's flags]     (default: $PENSTOCK_REFERENCE_DATA/photos)
#   bench/image.sh --ops [ops_bench's flags]          every op, in nanoseconds per pixel
# Installs Pillow into its own virtual environment under ${XDG_CACHE_HOME:-~/.cache}/penstock/peers.
set -euo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/penstock/peers
bin=${PENSTOCK_BIN:-$root/build/release/bin}
die() { printf 'image.sh: %s\n' "$*" >&2; exit 1; }
ops=''
if [ "${1:-}" = --ops ]; then ops=1; shift; fi
folder=${PENSTOCK_REFERENCE_DATA:-}${PENSTOCK_REFERENCE_DATA:+/photos}
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then folder=$1; shift; fi
[ -n "$ops" ] || [ -d "$folder" ] || { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2; }
[ -x "$bin/image_bench" ] || die "$bin/image_bench does not exist: cmake --build build/release --target benches (or set PENSTOCK_BIN)"
python=$cache/pillow/bin/python
if ! "$python" -c 'import PIL' 2>/dev/null; then
  mkdir -p "$cache"
  python3 -m venv "$cache/pillow" || die "python3 -m venv failed: apt-get install python3-venv"
  "$cache/pillow/bin/pip" install -q 'pillow==13.*' || die "pip could not install Pillow (above)"
fi
[ -z "$ops" ] || exec "$bin/ops_bench" --pillow="$python" --pillow_script="$root/bench/peers/pillow_ops.py" "$@"
exec "$bin/image_bench" --folder="$folder" --pillow="$python" --pillow_script="$root/bench/peers/pillow_image.py" "$@"
