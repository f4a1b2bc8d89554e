"""Runs the table of lines; a hundred of them at least, all different."""

import sys
import unittest

import harness
from lines import LINES


class Lines(unittest.TestCase):
    def test_each(self):
        for line in LINES:
            with self.subTest(line.name):
                outcome = harness.run(line.code, line.config, line.arguments, files=line.files)
                if line.error is None:
                    self.assertEqual(outcome.code, 0, outcome.out)
                else:
                    self.assertEqual(outcome.code, 1, outcome.out)
                    self.assertIn(line.error, outcome.out.splitlines()[-1])
                self.assertEqual(outcome.metrics, {name: dict(at) for name, at in line.values.items()})
                self.assertEqual(sorted(outcome.shim_notes()), sorted(line.notes))

    def test_are_a_hundred(self):
        self.assertGreaterEqual(len({line.code for line in LINES}), 100)


if __name__ == "__main__":
    sys.exit(unittest.main())
