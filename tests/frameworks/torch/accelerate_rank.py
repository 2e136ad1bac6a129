"""One rank of a training with Accelerate: accelerate_rank.py JOB DATA FOLDER. Prints its results."""

import contextlib
import json
import sys

import torch
from accelerate import Accelerator
from training import loader_of, model_of, scores_of


def main(job, data, folder):
    accelerator = Accelerator(cpu=True)
    loader = loader_of(job, data, columns=("image", "label", "ids"))
    model = model_of(1)
    scores_of(model, torch.zeros(1, 32, 32, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.02)
    prepared, model, optimizer = accelerator.prepare(loader, model, optimizer)
    assert prepared is loader  # it already has this rank's rows
    with contextlib.suppress(AttributeError):  # accepts DataLoaders only: it must not shard silently
        accelerator.prepare_data_loader(loader)
        raise AssertionError("wrapped")
    accelerator.register_for_checkpointing(loader)

    def epoch(stop_at=-1):
        seen = []
        for images, labels, ids in loader:
            loss = torch.nn.functional.cross_entropy(scores_of(model, images), labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            seen.append((ids.tolist(), float(loss.detach())))
            if len(seen) == stop_at:
                break
        return seen

    first = epoch()
    begun = epoch(2)
    accelerator.save_state(folder)
    rest = epoch()  # another epoch: the loop was left
    accelerator.load_state(folder)
    again = epoch()
    accelerator.wait_for_everyone()
    print(json.dumps({
        "rank": loader.rank, "world_size": loader.world_size, "first": first, "begun": begun, "rest": rest, "again": again,
    }))
    accelerator.end_training()


if __name__ == "__main__":
    main(*sys.argv[1:])
