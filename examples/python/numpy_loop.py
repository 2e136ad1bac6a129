"""Softmax regression in NumPy: numpy_loop.py JOB.textproto DATA_ROOT [--epochs N] [--checkpoint FILE]

Shows the loop, a learning-rate schedule, gradient clipping, a checkpoint from which it resumes, and an exact accuracy. JOB has
the columns image (uint8, height x width x 3) and label, as in a job of `penstock init`.
"""

import argparse
import json
import os

import numpy as np
import penstock
from penstock import ops


def features(images):
    """Returns the means of 8 x 8 fields, from -1 to 1, and a constant 1."""
    rows, height, width, channels = images.shape
    fields = images[:, : height // 8 * 8, : width // 8 * 8].reshape(rows, 8, height // 8, 8, width // 8, channels)
    means = fields.mean(axis=(2, 4), dtype=np.float32).reshape(rows, -1) / 127.5 - 1
    return np.concatenate([means, np.ones((rows, 1), np.float32)], axis=1)


def softmax(scores):
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def evaluation_of(job, height, width):
    """Returns a job that reads every record once, without randomness, and pads the last batch."""
    return penstock.Job(
        name=f"{job.name}-eval",
        dataset=job.dataset,
        features=job.features,
        ops=[ops.decode_image(), ops.resize(shorter_side=height * 8 // 7), ops.center_crop(height=height, width=width)],
        order={"shuffle": "NONE"},
        batch={"size": 64, "last": "PAD"},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("data_root")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--checkpoint")
    given = parser.parse_args()

    job = penstock.Job.load(given.job)
    loader = penstock.Loader(job, data_root=given.data_root, batch_size=50)
    height, width, _ = loader.schema["image"].shape
    evaluation = penstock.Loader(evaluation_of(job, height, width), data_root=given.data_root)

    weights = np.zeros((8 * 8 * 3 + 1, given.classes), np.float32)
    step, steps = 0, given.epochs * len(loader)
    if given.checkpoint and os.path.exists(given.checkpoint):
        saved = np.load(given.checkpoint)
        weights, step = saved["weights"], int(saved["step"])
        loader.load_state_dict(json.loads(str(saved["loader"])))

    for epoch in range(loader.epoch, given.epochs):
        losses = []
        for batch in loader:
            inputs, labels = features(batch["image"]), batch["label"]
            rows = np.arange(len(labels))
            chances = softmax(inputs @ weights)
            losses.append(float(-np.log(chances[rows, labels]).mean()))
            chances[rows, labels] -= 1
            gradient = inputs.T @ chances / len(labels)
            gradient *= min(1.0, 5.0 / float(np.linalg.norm(gradient)))  # clipped
            rate = 0.2 * 0.5 * (1 + np.cos(np.pi * step / steps))  # cosine schedule
            weights -= np.float32(rate) * gradient
            step += 1
        correct = rows_seen = 0
        for batch in evaluation:
            guess = (features(batch["image"]) @ weights).argmax(axis=1)
            correct += int((guess == batch["label"])[batch.valid].sum())  # padding does not count
            rows_seen += int(batch.valid.sum())
        if given.checkpoint:
            with open(given.checkpoint + ".new", "wb") as file:
                np.savez(file, weights=weights, step=step, loader=json.dumps(loader.state_dict()))
            os.replace(given.checkpoint + ".new", given.checkpoint)
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, accuracy {correct / rows_seen:.3f} ({correct} of {rows_seen})")

    stats = loader.stats()
    print(f"{stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


if __name__ == "__main__":
    main()
