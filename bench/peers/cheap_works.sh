# Works of run whose rows cost little: numbers that need no decoding. The sides are loops without a daemon.

tokens() {
  local job=$work/tokens.textproto file=$cache/tokens-50000.bin
  made "$file" "$numpy" cheap_rows.py tokens 50000
  cat >"$job" <<END
name: "tokens"
dataset { files: "$file" source: UINT16 window { size: 4097 stride: 4096 } }
features { key: "row" column: "tokens" type: BYTES decode_raw: UINT16 shape: [4097] }
order { seed: 17 }
batch { size: $batch last: DROP }
END
  sides=()
  ours_local "$job" tokens
  peer torch 'torch DataLoader, no workers' ,2 torch_python torch_tokens.py "$file" 0
  peer torch 'torch DataLoader, no workers, np.stack' ,2 torch_python torch_tokens.py "$file" 0 --stack
  peer torch 'torch DataLoader, workers' ,2 torch_python torch_tokens.py "$file" "$threads"
  peer grain 'Grain, no threads' ,3 grain_python grain_tokens.py "$file" 0
  peer grain 'Grain, workers' ,3 grain_python grain_tokens.py "$file" "$threads"
  take_turns tokens "Rows of 4,097 tokens of uint16, batches of $batch"
}

packed() {
  local job=$work/packed.textproto folder=$cache/packed-200000
  local prefix=$folder/documents
  made "$folder" "$numpy" cheap_rows.py packed 200000
  cat >"$job" <<END
name: "packed"
dataset { files: "$prefix.bin" source: MEGATRON select { pack { length: 2048 features: "row" } } }
features { key: "row" column: "packed" type: BYTES decode_raw: UINT16 variable_length: true }
order { seed: 17 }
batch { size: $batch last: DROP }
END
  "$bin/penstock" select "$job" --examples 0 | tail -n 1
  sides=()
  ours_local "$job" packed
  for kind in FirstFit BestFit; do
    peer grain "Grain, $kind, no threads" ,5 grain_python grain_packed.py "$prefix" 0 "$kind"
    peer grain "Grain, $kind, workers" ,5 grain_python grain_packed.py "$prefix" "$threads" "$kind"
  done
  take_turns packed "Documents packed into rows of 2,048 tokens of uint16, batches of $batch"
}

table() {
  local job=$work/table.textproto folder=$cache/table-1000000 rows=$((4 * batch)) python
  python=$(datasets_python) || die "the work table needs datasets and pyarrow"
  made "$folder" "$python" cheap_rows.py table 1000000
  cat >"$job" <<END
name: "table"
dataset { files: "$folder/shards/data-*.tfrecord" }
features { key: "numbers" type: FLOAT shape: 40 }
order { seed: 17 }
batch { size: $rows last: DROP }
END
  sides=()
  ours_local "$job" numbers
  peer tf tf.data ,1.5 tensorflow_python tf_data_table.py "$folder/shards" "$threads"
  for kind in numpy arrow iterable; do
    peer datasets "datasets, $kind" ,3 datasets_python datasets_table.py "$folder/table.parquet" "$work/datasets" "$kind"
  done
  PEER_BATCH=$rows take_turns table "Rows of 40 float32 numbers, batches of $rows"
}
