# How the arrays beside this file were made, and so how data of your own become arrays that Thalweg reads:
#   python3 make.py
# Needs numpy. A picture is channels x height x width; labels are whole numbers from 0; targets are reals.
import numpy

draw = numpy.random.default_rng(1)

# 600 samples of 8 measurements, of 3 classes, and one real number to predict.
kind = draw.integers(0, 3, 600)
centres = draw.normal(size=(3, 8))
measured = centres[kind] + 0.7 * draw.normal(size=(600, 8))
amount = measured[:, :1] * measured[:, 1:2] + 0.1 * draw.normal(size=(600, 1))
numpy.savez_compressed(
    "measurements.npz",
    X=measured.astype("float32"),   # inputs: samples x features
    y=kind.astype("uint8"),         # labels: one number a sample
    t=amount.astype("float32"))     # targets: samples x numbers to predict

# 120 pictures of 1 x 16 x 16 with a bright disc, and for every pixel whether it is of the disc.
rows, columns = numpy.mgrid[0:16, 0:16]
centre = draw.uniform(4, 12, size=(120, 2, 1, 1))
radius = draw.uniform(2, 5, size=(120, 1, 1))
disc = (rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2 < radius ** 2
light = numpy.clip(80 + 90 * disc + 25 * draw.normal(size=(120, 16, 16)), 0, 255)
numpy.savez_compressed(
    "cells.npz",
    pictures=light.astype("uint8").reshape(120, 1, 16, 16),
    masks=disc.astype("uint8"))     # labels: samples x pixels
