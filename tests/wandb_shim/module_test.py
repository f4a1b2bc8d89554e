"""thalweg.log by itself: what counts as a number and as a step."""

import sys
import unittest

import harness

TENSOR = """
import thalweg

class Tensor:  # as torch's: float() of one that has a gradient warns
    def __init__(self, value, gradient):
        self.value, self.gradient = value, gradient
    def detach(self):
        return Tensor(self.value, False)
    def __float__(self):
        if self.gradient:
            print("UserWarning: Converting a tensor with requires_grad=True to a scalar")
        return self.value
"""


class Module(unittest.TestCase):
    def test_a_tensor_with_a_gradient_is_detached(self):
        outcome = harness.run(TENSOR + "thalweg.log({'loss': Tensor(0.5, True), 'lr': Tensor(2.0, False)}, step=3)")
        self.assertEqual(outcome.metrics, {"loss": {3: 0.5}, "lr": {3: 2.0}}, outcome.out)
        self.assertNotIn("UserWarning", outcome.out)

    def test_a_detach_of_another_kind_is_no_number(self):
        outcome = harness.run("import thalweg\nclass Odd:\n    detach = 3\n"
                              "thalweg.log({'odd': Odd(), 'loss': 1}, step=1)")  # fmt: skip
        self.assertEqual(outcome.metrics, {"loss": {1: 1.0}}, outcome.out)
        self.assertEqual(len(outcome.notes), 1, outcome.notes)

    def test_steps_are_whole_and_a_note_says_so_once(self):
        outcome = harness.run("import thalweg\nfor i in range(4):\n    thalweg.log({'m': i}, step=i + 0.5)")
        self.assertEqual(outcome.metrics, {"m": {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}})
        self.assertEqual(outcome.notes, ["step 0.5 is taken for 0"])


if __name__ == "__main__":
    sys.exit(unittest.main())
