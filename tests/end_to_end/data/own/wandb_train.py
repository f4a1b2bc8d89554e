"""A script as people write it for W&B: argparse defaults, wandb.config, nested metrics, a picture."""

import argparse
import os
import sys

import wandb


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=9.0)
    parser.add_argument("--optimizer.momentum", dest="momentum", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=12)
    args = parser.parse_args()
    with wandb.init(project="anything", config=args, tags=["a"]) as run:
        config = wandb.config
        config.update({"lr": 5.0, "width": 3}, allow_val_change=True)  # lr is the sweep's
        assert config.lr == config["lr"] == args.lr, config
        assert config.width == 3 and "optimizer" in config and config.optimizer["momentum"] == 0.5, config
        run.define_metric("loss", summary="min")
        wandb.watch(object())
        mark = os.path.join(run.dir, os.pardir, "checkpoint")
        first = int(open(mark).read()) + 1 if run.resumed else 0
        for epoch in range(first, config.epochs):
            loss = config.lr + 1.0 / (epoch + 1)
            wandb.log({"loss": loss, "detail": {"accuracy": 1 - loss, "name": "x"}}, step=epoch)
            wandb.log({"examples": wandb.Image(None)}, commit=False)
            with open(mark, "w") as file:
                file.write(str(epoch))
            run.checkpoint(mark, step=epoch)
            if epoch == 6 and not run.resumed and args.lr < 0.15:
                os.kill(os.getpid(), 9)
        wandb.summary["final"] = loss
    assert wandb.run is None
    try:
        wandb.agent("x")
    except wandb.Error as error:
        print(error)
        return 0
    return 1


sys.exit(main())
