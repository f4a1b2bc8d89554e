"""Distributed gradient descent on a line, with sockets only: each rank has a part of the samples, the
gradients are summed through rank 0. What comes out is the same for every number of ranks."""

import argparse
import json
import os
import socket
import struct
import time

import thalweg


def connections(rank, size):
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if size == 1:
        return []
    if rank == 0:
        with socket.create_server(address) as server:
            return [server.accept()[0] for _ in range(size - 1)]
    for _ in range(500):
        try:
            return [socket.create_connection(address)]
        except OSError:
            time.sleep(0.02)
    raise SystemExit("rank 0 does not listen")


def receive(peer):
    data = b""
    while len(data) < 8:
        part = peer.recv(8 - len(data))
        if not part:
            raise SystemExit("a peer is gone")
        data += part
    return struct.unpack("<d", data)[0]


def total(value, rank, peers):
    """The sum over all ranks, on all ranks."""
    if rank != 0:
        peers[0].sendall(struct.pack("<d", value))
        return receive(peers[0])
    result = value + sum(receive(peer) for peer in peers)
    for peer in peers:
        peer.sendall(struct.pack("<d", result))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    run = thalweg.init(steps=100)
    assert run.config.lr == arguments.lr and run.seed == arguments.seed
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    peers = connections(rank, size)
    samples = range(rank, 8, size)
    weight, step = float(arguments.seed), 0
    if run.resume_from:
        with open(run.resume_from) as file:
            state = json.load(file)
        weight, step = state["weight"], state["step"]
    while step < arguments.steps:
        gradient = total(sum(weight for _ in samples), rank, peers) / 8
        weight -= arguments.lr * gradient
        step += 1
        thalweg.log({"val/loss": weight * weight}, step=step)
        # Rank 0 decides for all, so that none waits for one that has stopped.
        stop = total(1.0 if rank == 0 and thalweg.should_stop() else 0.0, rank, peers) > 0
        if rank == 0 and (step % 10 == 0 or stop):
            os.makedirs(run.checkpoints, exist_ok=True)
            path = os.path.join(run.checkpoints, "step-%d.json" % step)
            with open(path + ".new", "w") as file:
                json.dump({"weight": weight, "step": step}, file)
            os.rename(path + ".new", path)
            thalweg.checkpoint(path, step=step)
        if stop:
            break
        time.sleep(arguments.pause)
    thalweg.finish()


main()
