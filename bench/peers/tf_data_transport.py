"""Measures the rate from a worker of tf.data service to a trainer on this machine. The worker repeats one uncompressed batch
of 64 x 224 x 224 x 3 from its memory, over the service's gRPC. For bench/transport.sh.

  tf_data_transport.py BATCHES     prints GB/s, and CPU seconds per GB of the worker's process and of this one
"""

import multiprocessing
import os
import resource
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1"
SHAPE = (64, 224, 224, 3)


def run_server(addresses):
    import tensorflow as tf

    service = tf.data.experimental.service
    dispatcher = service.DispatchServer(service.DispatcherConfig(port=0))
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=dispatcher.target.split("://")[1]))
    addresses.put(dispatcher.target)
    worker.join()


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    batches = int(sys.argv[1])
    spawn = multiprocessing.get_context("spawn")
    addresses = spawn.Queue()
    server = spawn.Process(target=run_server, args=(addresses,), daemon=True)
    server.start()
    target = addresses.get(timeout=120)

    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensors(tf.ones(SHAPE, tf.uint8)).repeat()
    dataset = dataset.apply(
        tf.data.experimental.service.distribute(
            processing_mode=tf.data.experimental.service.ShardingPolicy.OFF, service=target, compression=None
        )
    )
    batch_bytes = tf.ones(SHAPE, tf.uint8).numpy().nbytes
    stream = iter(dataset.prefetch(tf.data.AUTOTUNE))
    for _ in range(20):
        next(stream)
    begun, there, here = time.perf_counter(), cpu_of(server.pid), own_cpu()
    for _ in range(batches):
        next(stream)
    took = time.perf_counter() - begun
    gigabytes = batches * batch_bytes / 1e9
    there, here = cpu_of(server.pid) - there, own_cpu() - here
    print(f"{gigabytes / took:.3f} {there / gigabytes:.3f} {here / gigabytes:.3f}", flush=True)
    server.kill()
    os._exit(0)  # the stream has no end


if __name__ == "__main__":
    main()
