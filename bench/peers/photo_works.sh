# Works of run on the photographs in other formats, with the recipe of plain. The sides are loops without a daemon.

# photo_job NAME DATASET IMAGE LABEL: prints the standard job for other files, whose features have the keys IMAGE and LABEL.
photo_job() {
  standard_job "$1" . "$batch" | sed "s|^dataset .*|dataset { $2 }|; s|image/encoded|$3|; s|image/class/label|$4|"
}

# In run, this function hides the program tar, which no work needs.
tar() {
  local job=$work/tar.textproto shards=$((4 * threads)) folder  # the workers of webdataset share the shards evenly
  folder=$cache/tar-$records-$shards
  made "$folder" "$numpy" photo_formats.py tar "$photos" "$records" "$shards"
  photo_job tar "files: \"$folder/*.tar\"" jpg cls >"$job"
  sides=()
  ours_local "$job"
  peer webdataset webdataset ,2.5 webdataset_python webdataset_loader.py "$folder" "$threads"
  take_turns tar 'JPEG in tar shards'
}

folders() {
  local job=$work/folders.textproto folder=$cache/folders-$records
  made "$folder" "$numpy" photo_formats.py folders "$photos" "$records"
  "$bin/penstock" init "$folder" --force --out "$work/init.textproto" >"$work/init.log" 2>&1 ||
    { cat "$work/init.log" >&2; die "penstock init failed"; }
  photo_job folders "files: \"$folder.csv\" source: MANIFEST" contents label >"$job"
  sides=()
  ours_local "$job"
  peer torch 'torch DataLoader, ImageFolder' ,2.5 torch_python torch_folders.py "$folder" "$threads"
  take_turns folders 'JPEG files in folders of classes'
}

parquet() {
  local job=$work/parquet.textproto folder=$cache/parquet-$records python
  python=$(parquet_python) || die "the work parquet needs pyarrow"
  made "$folder" "$python" photo_formats.py parquet "$photos" "$records"
  photo_job parquet "files: \"$folder/shards/data-*.tfrecord\"" image label >"$job"
  sides=()
  ours_local "$job"
  peer datasets 'datasets, streaming' ,2.5 parquet_python datasets_photos.py "$folder/photos.parquet" "$work/datasets" "$threads"
  peer torch 'torch DataLoader, pyarrow' ,2.5 parquet_python torch_parquet.py "$folder/photos.parquet" "$threads"
  take_turns parquet 'JPEG in Parquet'
}
