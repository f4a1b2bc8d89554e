"""A script that never asks whether it should stop ends at its next report, by the exit code that means so."""

import sys
import unittest

import harness

STOPPED = 75
BEGIN = "import wandb\nrun = wandb.init()\n"


class Stops(unittest.TestCase):
    def stopped(self, script, **more):
        outcome = harness.run(BEGIN + script, **more)
        self.assertEqual(outcome.code, STOPPED, outcome.out)
        self.assertIn({"stopping": True}, outcome.reports)
        return outcome

    def test_at_the_next_log(self):
        outcome = self.stopped("for i in range(50): wandb.log({'loss': i})", stop=True)
        self.assertEqual(outcome.metrics, {"loss": {0: 0.0}})

    def test_in_the_middle(self):
        told = ("import os, time\nfor i in range(50):\n    if i == 3: open(os.environ['THALWEG_STOP'], 'w').close(); time.sleep(.25)\n"
                "    run.log({'loss': i})")  # fmt: skip
        self.assertEqual(self.stopped(told).metrics, {"loss": {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}})

    def test_though_the_script_catches_exceptions(self):
        self.stopped("for i in range(3):\n    try:\n        wandb.log({'loss': i})\n    except Exception:\n        pass", stop=True)

    def test_inside_of_with_and_finally(self):
        outcome = self.stopped("try:\n    with run: run.log({'loss': 1})\nfinally:\n    print('tidied')", stop=True)
        self.assertIn("tidied", outcome.out)

    def test_behind_a_checkpoint(self):
        outcome = self.stopped("run.checkpoint('m.pt', step=4)\nprint('on')", stop=True)
        self.assertEqual(outcome.reports[1]["step"], 4)
        self.assertNotIn("on\n", outcome.out)

    def test_at_a_scalar_of_tensorboard(self):
        self.stopped(
            "wandb.tensorboard.patch()\nfrom tensorboard.summary.writer.event_file_writer import EventFileWriter, scalar\n"
            "for i in range(9): EventFileWriter('d').add_event(scalar('a', i, i))",
            stop=True,
        )

    def test_not_where_the_script_asks_itself(self):
        ask = "import thalweg\nwhile not thalweg.should_stop(): pass\nfor i in range(3): wandb.log({'loss': i})\nprint('saved')"
        outcome = harness.run(BEGIN + ask, stop=True)
        self.assertEqual((outcome.code, len(outcome.metrics["loss"])), (0, 3), outcome.out)

    def test_not_in_another_thread(self):
        """Where an exit would end the thread alone and the training would go on unseen."""
        script = "import threading\nt = threading.Thread(target=lambda: [run.log({'a': i}) for i in range(3)])\nt.start(); t.join()"
        outcome = harness.run(BEGIN + script, stop=True)
        self.assertEqual((outcome.code, outcome.metrics), (0, {"a": {0: 0.0, 1: 1.0, 2: 2.0}}), outcome.out)


class Resumes(unittest.TestCase):
    AGAIN = {"THALWEG_RESUME_FROM": "/checkpoint", "THALWEG_RESUME_STEP": "4"}

    def test_behind_its_checkpoint(self):
        outcome = harness.run(BEGIN + "assert run.resumed and run.step == 5\nrun.log({'a': 1})", environment=self.AGAIN)
        self.assertEqual(outcome.metrics, {"a": {5: 1.0}}, outcome.out)

    def test_where_the_script_says(self):
        """Its own checkpoint may be older than what Thalweg knows."""
        outcome = harness.run(BEGIN + "for i in (2, 3): run.log({'a': i}, step=i)", environment=self.AGAIN)
        self.assertEqual((outcome.metrics, outcome.shim_notes()), ({"a": {2: 2.0, 3: 3.0}}, []), outcome.out)

    def test_with_the_same_id(self):
        """Folders that are named for the run are found again."""
        ids = [harness.run(BEGIN + "print(run.id)", environment={"THALWEG_ATTEMPT": "12.3." + n}).out for n in "12"]
        self.assertEqual(ids, ["12-3\n"] * 2)


class Outside(unittest.TestCase):
    def test_infinities_are_numbers(self):
        outcome = harness.run(
            BEGIN + "assert wandb.config.clip == float('inf') == wandb.config['opt.most']",
            config={"clip": "inf", "opt": {"most": "inf"}},
            environment={"THALWEG_NOT_FINITE": '[["clip"], ["opt", "most"]]'},
        )
        self.assertEqual(outcome.code, 0, outcome.out)

    def test_of_thalweg_it_prints(self):
        outside = {"THALWEG_REPORTS": None, "THALWEG_ATTEMPT": None, "THALWEG_STOP": None}
        outcome = harness.run(BEGIN + "run.log({'loss': 1, 'x': wandb.Image(None)})", environment=outside)
        self.assertEqual(outcome.code, 0, outcome.out)
        self.assertIn("step 0: loss=1.0", outcome.out)
        self.assertIn("wandb shim: x (Image) is not recorded", outcome.out)
        outcome = harness.run("import wandb\nwandb.sweep({'method': 'grid'})", environment=outside)
        self.assertIn("sweeps are submitted here by: thalweg submit sweep.yaml", outcome.out)

    def test_of_rank_0_nothing_is_reported(self):
        outcome = harness.run(BEGIN + "run.log({'loss': 1})", environment={"RANK": "1"})
        self.assertEqual((outcome.code, outcome.reports), (0, []), outcome.out)

    def test_notes_have_an_end(self):
        outcome = harness.run(BEGIN + "for i in range(200): run.log({'text %d' % i: 'x'})")
        self.assertEqual(len(outcome.shim_notes()), 51, outcome.out)
        self.assertEqual(outcome.shim_notes()[-1], "more of what is not recorded is not said")


if __name__ == "__main__":
    sys.exit(unittest.main())
