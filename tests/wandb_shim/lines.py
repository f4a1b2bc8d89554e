"""Usual lines of scripts that were written for W&B, each with all that comes of it: the values reported, by step, and
the notes. What a line has no number for is noted, so a number that is lost without a word fails here.

Written from the functions of W&B's public reference (docs.wandb.ai/ref/python), those that it had once, too. Lines that
mean the same in both were tried with wandb 0.31.0, offline.
"""


class Line:
    def __init__(self, code, values=None, notes=(), error=None, config=None, arguments=(), files=None, before_init=False):
        run = "" if before_init else "import wandb\nrun = wandb.init(project='p')\n"
        self.code = run + code
        self.name = code.strip().replace("\n", "; ")[:90]
        self.values, self.notes, self.error = values or {}, list(notes), error
        self.config, self.arguments, self.files = config, arguments, files


def no_run(code, *args, **kwargs):
    return Line("import wandb\n" + code, *args, before_init=True, **kwargs)


LOSS = {"loss": {0: 1.0}}
KEPT = "wandb.log_artifact keeps nothing: files stay where they are"
TENSOR = """
class Tensor:
    def __init__(self, x): self.x = x
    def item(self):
        if isinstance(self.x, list): raise ValueError('only one element')
        return self.x
"""


def gone(*names):
    return [name + " is not recorded" for name in names]


INIT = [
    no_run("wandb.init(project='p', entity='team', name='first', tags=['a'], notes='n', group='g', job_type='train')\n"
           "wandb.log({'loss': 1})", LOSS),
    no_run("with wandb.init(project='p') as run:\n    run.log({'loss': 1})\nassert wandb.run is None", LOSS),
    no_run("wandb.init(mode='offline', dir='.', save_code=True, resume='allow', id='abc', reinit=True)\n"
           "assert wandb.run.id == 'abc' and wandb.run.offline", {}),
    no_run("wandb.init(mode='disabled'); wandb.log({'loss': 1})", LOSS),
    no_run("wandb.init(settings=wandb.Settings(start_method='fork', console='off', _disable_stats=True))"),
    no_run("wandb.init(settings={'run_name': 'n'}); assert wandb.run.name == 'n'"),
    no_run("wandb.init(anonymous='allow', force=True, allow_val_change=True, tensorboard=False)"),
    no_run("wandb.init(monitor_gym=True)", {}, ["monitor_gym: videos are not recorded"]),
    no_run("wandb.init(fork_from='abc?_step=3')", {},
           ["resume_from and fork_from mean nothing here: thalweg goes on from the trial's own checkpoint"]),
    no_run("wandb.init(nonsense=1)", {}, ["wandb.init(nonsense=...) means nothing here"]),
    no_run("assert wandb.run is None\na = wandb.init()\nb = wandb.init()\nassert a is b is wandb.run"),
    no_run("for fold in range(2):\n    run = wandb.init(group='cv', name='fold %d' % fold, reinit=True)\n"
           "    for i in range(2): run.log({'loss': fold + i})\n    run.finish()\n"
           "wandb.init(); wandb.log({'mean': 5}); wandb.finish()",
           {"loss": {0: 0.0, 1: 1.0, 2: 1.0, 3: 2.0}, "mean": {4: 5.0}},
           ["fold 1 reports to the same trial as the run before: its steps count on from 2",
            "trial-12.3 reports to the same trial as the run before: its steps count on from 4"]),
    no_run("r = wandb.init(id='one')\nr.log({'loss': 1}); r.finish()\n"
           "r = wandb.init(id='one', resume='must')\nassert r.resumed and r.step == 1\nr.log({'loss': 2})",
           {"loss": {0: 1.0, 1: 2.0}}),
    no_run("wandb.login(key='x', relogin=True); wandb.setup(); wandb.require('core'); wandb.ensure_configured()"),
    no_run("wandb.termlog('a'); wandb.termwarn('b', repeat=False); wandb.termerror('c')"),
    no_run("import os\nos.environ['WANDB_NAME'] = 'mine'\nos.environ['WANDB_PROJECT'] = 'p'\n"
           "run = wandb.init()\nassert (run.name, run.project) == ('mine', 'p')"),
    no_run("wandb.finish(); wandb.join(); wandb.teardown()"),
    no_run("wandb.log({'a': 1})", error="You must call wandb.init() before wandb.log()"),
    no_run("try:\n    wandb.summary['a'] = 1\nexcept wandb.Error as e:\n    print(e)"),
]  # fmt: skip

RUN = [
    Line("print(run.id, run.name, run.project, run.entity, run.url, run.dir, run.path, run.group, run.job_type, run.tags)"),
    Line("assert run.id == '12-3' and run.sweep_id == '12' and run.path == 'p/12-3'"),
    Line("wandb.run.name = 'lr-%s' % 0.1\nwandb.run.save()\nrun.tags += ('b',)\nrun.notes = 'n'"),
    Line("import os\nos.makedirs(os.path.join(wandb.run.dir, 'models'), exist_ok=True)"),
    Line("print(run.get_url(), run.project_name(), run.step, run.starting_step, run.start_time, run.resumed, run.disabled)"),
    Line("run.finish(exit_code=0, quiet=True)"),
    Line("run.finish(exit_code=1)", {}, ["finish(exit_code=1) is for W&B: here the program's own exit code counts"]),
    Line("if wandb.run is not None:\n    wandb.run.log({'loss': 1})", LOSS),
    Line("run.mark_preempting(); wandb.mark_preempting(); run.display(height=400); run.to_html(); run.status()"),
    Line("run.log_code('.', include_fn=lambda p: p.endswith('.py'))", {}, gone("wandb.log_code")),
    Line("print(run.settings.mode, wandb.setup())"),
    Line("run._label(code='x')"),
    Line("run.pin_config_keys(['lr'])", {}, gone("run.pin_config_keys")),
    Line("wandb.alert(title='low', text='accuracy', level=wandb.AlertLevel.WARN, wait_duration=300)"),
    Line("from wandb import AlertLevel\nrun.alert('t', 'x', level=AlertLevel.ERROR)"),
]  # fmt: skip

LOG = [
    Line("wandb.log({'loss': 1.0})", LOSS),
    Line("run.log({'train/loss': 1, 'train/acc': .5}, step=3)", {"train/loss": {3: 1.0}, "train/acc": {3: 0.5}}),
    Line("wandb.log({'loss': 1}, commit=False)\nwandb.log({'acc': 2})\nwandb.log({'loss': 3})",
         {"loss": {0: 1.0, 1: 3.0}, "acc": {0: 2.0}}),
    Line("wandb.log({'a': 1}, step=2, commit=True)\nwandb.log({'a': 2})", {"a": {2: 1.0, 3: 2.0}}),
    Line("wandb.log({'val': {'loss': 1, 'top': {'k': 2}}})", {"val.loss": {0: 1.0}, "val.top.k": {0: 2.0}}),
    Line("wandb.log({'done': True, 'n': 3})", {"done": {0: 1.0}, "n": {0: 3.0}}),
    Line("wandb.log({'a': float('nan'), 'b': float('inf')})", {"a": {0: "nan"}, "b": {0: "inf"}}),
    Line(TENSOR + "wandb.log({'loss': Tensor(1.0)})", LOSS),
    Line(TENSOR + "wandb.log({'loss': 1, 'all': Tensor([1, 2])})", LOSS, gone("all (Tensor)")),
    Line(TENSOR + "wandb.log({'loss': 1, 'name': Tensor('0.5'), 'z': Tensor(1j)})", LOSS, gone("name (Tensor)", "z (Tensor)")),
    Line("from fractions import Fraction\nwandb.log({'a': Fraction(1, 4)})", {"a": {0: 0.25}}),
    Line("wandb.log({'loss': 1, 'none': None, 'text': '0.5', 'many': [1, 2]})", LOSS,
         gone("none (NoneType)", "text (str)", "many (list)")),
    Line("wandb.log({'a': 1}, step=5)\nwandb.log({'a': 2}, step=4)\nwandb.log({'a': 3}, step=6)",
         {"a": {5: 1.0, 6: 3.0}}, gone("a step that is smaller than the one before")),
    Line("wandb.log({'a': 1}, step=5)\nwandb.log({'b': 2}, step=5)\nwandb.log({'a': 3}, step=5)",
         {"a": {5: 3.0}, "b": {5: 2.0}}),
    Line("wandb.log({})\nwandb.log({'a': 1})", {"a": {1: 1.0}}),
    Line("wandb.log(dict(loss=1), sync=False)", LOSS),
    Line("from types import MappingProxyType\nwandb.log(MappingProxyType({'loss': 1}))", LOSS),
    Line("wandb.log([1])", error="wandb.log takes a dict"),
    Line("for epoch in range(2):\n    metrics = {'loss': 1 / (epoch + 1)}\n    wandb.log({**metrics, 'epoch': epoch})",
         {"loss": {0: 1.0, 1: 0.5}, "epoch": {0: 0.0, 1: 1.0}}),
    Line("import threading\nt = threading.Thread(target=lambda: wandb.log({'loss': 1}))\nt.start(); t.join()", LOSS),
]  # fmt: skip

CONFIG = [
    no_run("import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=.1)\n"
           "p.add_argument('--n', type=int, default=3)\nargs = p.parse_args()\nwandb.init(config=args)\n"
           "assert wandb.config.lr == .5 and wandb.config['n'] == 3", arguments=["--lr=0.5"], config={"lr": 0.5}),
    Line("import argparse\nwandb.config.update(argparse.Namespace(a=1, b='x'))\n"
         "assert dict(wandb.config) == {'a': 1, 'b': 'x'}"),
    Line("wandb.config.update({'a': 1}, allow_val_change=True)\nrun.config.update({'a': 2}, allow_val_change=True)\n"
         "assert wandb.config.a == 2"),
    Line("config = wandb.config\nconfig.lr = .1\nconfig['n'] = 2\nassert run.config['lr'] == .1 and config.n == 2\n"
         "assert 'lr' in config and config.get('lr') == .1 and config.get('x', 5) == 5 and config.get('x') is None\n"
         "assert sorted(config.keys()) == ['lr', 'n'] and dict(config.items())['n'] == 2 and len(config) == 2"),
    Line("def f(**kw): return kw\nwandb.config.update(dict(a=1))\nassert f(**wandb.config) == {'a': 1}\n"
         "assert wandb.config.as_dict() == {'a': 1} and str(wandb.config)\nwandb.config.persist()"),
    Line("wandb.config.setdefaults({'lr': 5, 'n': 2})\nassert wandb.config.lr == .1 and wandb.config.n == 2",
         config={"lr": 0.1}),
    Line("wandb.config.update({'lr': .1})\nassert wandb.config.lr == .1", config={"lr": 0.1}),
    Line("wandb.config.lr = 7\nassert wandb.config.lr == .1", {}, ["config.lr stays what the sweep says"],
         config={"lr": 0.1}),
    no_run("wandb.init(config={'opt': {'lr': 1, 'name': 'sgd'}})\nassert wandb.config['opt'] == {'lr': .1, 'name': 'sgd'}\n"
           "assert wandb.config.opt['lr'] == .1 and wandb.config['opt.lr'] == .1 and 'opt.lr' in wandb.config\n"
           "assert wandb.config.get('opt.lr') == .1\nwandb.config.update({'opt': {'lr': .1, 'beta': 3}})\n"
           "assert wandb.config.opt == {'lr': .1, 'beta': 3}", config={"opt": {"lr": 0.1}}),
    Line("import copy, json\nc = copy.deepcopy(wandb.config)\nassert c == {'opt': {'lr': .1}, 'n': 2} == copy.copy(run.config)\n"
         "c.opt.lr = 5\nassert wandb.config.opt.lr == .1 and json.dumps(dict(run.config))\n"
         "assert type(wandb.config.as_dict()['opt']) is dict", config={"opt": {"lr": 0.1}, "n": 2}),
    no_run("import argparse\np = argparse.ArgumentParser()\np.add_argument('--opt.lr', type=float, default=9.)\n"
           "args = p.parse_args([])\nwandb.init(config=args)\nassert wandb.config['opt.lr'] == .1 == wandb.config.opt.lr",
           config={"opt": {"lr": 0.1}}),
    Line("assert wandb.config.opt == 'adam' and wandb.config['opt.lr'] == .1 and 'opt.lr' in wandb.config",
         config={"opt": "adam", "opt.lr": 0.1}),
    no_run("wandb.config = {'lr': .1}\nwandb.init(config=wandb.config)\nassert wandb.config['lr'] == .1"),
    no_run("wandb.config.epochs = 4\nwandb.init()\nassert wandb.config.epochs == 4"),
    no_run("wandb.init(config={'a': 1, 'b': 2}, config_exclude_keys=['b'])\nassert 'b' not in wandb.config"),
    no_run("wandb.init(config={'a': 1, 'b': 2}, config_include_keys=['b'])\nassert list(wandb.config) == ['b']"),
    no_run("import dataclasses\n@dataclasses.dataclass\nclass C:\n    lr: float = .1\nwandb.init(config=C())\n"
           "assert wandb.config.lr == .1\nwandb.config.update(dataclasses.asdict(C()))"),
    no_run("class FLAGS:\n    @staticmethod\n    def flag_values_dict(): return {'lr': .1}\nwandb.init(config=FLAGS)\n"
           "assert wandb.config.lr == .1"),
    no_run("wandb.init(config=[1])", error="a configuration is a dict or has attributes"),
    Line("try:\n    wandb.config.nothing\nexcept AttributeError as e:\n    print(e)\n"
         "assert getattr(wandb.config, 'nothing', 3) == 3 and not hasattr(wandb.config, 'nothing')"),
    no_run("import sys, types\nyaml = types.ModuleType('yaml')\nyaml.safe_load = lambda f: {'lr': {'value': .1}, 'n': 2}\n"
           "sys.modules['yaml'] = yaml\nwandb.init()\nassert wandb.config.lr == .1 and wandb.config.n == 2",
           files={"config-defaults.yaml": "lr: {value: 0.1}\nn: 2\n"}),
    no_run("import sys\nsys.modules['yaml'] = None\nwandb.init(config='a.yaml')",
           error="a.yaml: to read it install PyYAML, or give wandb.init a dict", files={"a.yaml": "lr: 1"}),
]  # fmt: skip

BEHIND = "what is put into summary['loss'] is a value of it behind the last one logged"

SUMMARY = [
    Line("wandb.summary['best'] = .9", {"best": {0: 0.9}}),
    Line("run.log({'loss': 1}); wandb.run.summary['best_loss'] = .5", {"loss": {0: 1.0}, "best_loss": {0: 0.5}}),
    Line("wandb.log({'loss': 1}); wandb.summary['loss'] = .5\nassert run.summary['loss'] == .5",
         {"loss": {0: 1.0, 1: 0.5}}, [BEHIND]),
    Line("wandb.log({'loss': 1}); wandb.summary['loss'] = 1.0", LOSS),
    Line("run.summary.update({'a': 1, 'b': 2}); wandb.summary.update(c=3)", {"a": {0: 1.0}, "b": {0: 2.0}, "c": {0: 3.0}}),
    Line("run.summary.best = 2\nassert run.summary.best == 2 and wandb.summary.get('x', 4) == 4", {"best": {0: 2.0}}),
    Line("run.summary['test'] = {'acc': .5, 'f1': .4}", {"test.acc": {0: 0.5}, "test.f1": {0: 0.4}}),
    Line("run.summary['model'] = 'resnet'\nassert run.summary['model'] == 'resnet'", {}, gone("summary model (str)")),
    Line("for x in (3, 1, 2): run.log({'loss': x})\nassert wandb.summary['loss'] == 2 and 'loss' in wandb.summary\n"
         "assert dict(wandb.summary) == {'loss': 2.0} and list(run.summary.keys()) == ['loss']",
         {"loss": {0: 3.0, 1: 1.0, 2: 2.0}}),
    Line("run.define_metric('loss', summary='min')\nfor x in (3, 1, 2): run.log({'loss': x})\n"
         "assert run.summary['loss'] == {'min': 1} and run.summary['loss.min'] == 1",
         {"loss": {0: 3.0, 1: 1.0, 2: 2.0}, "loss.min": {0: 3.0, 1: 1.0}}),
    Line("wandb.define_metric('acc', summary='max,last,mean')\nfor x in (1, 3, 2): wandb.log({'acc': x})\n"
         "assert run.summary['acc'] == {'max': 3, 'last': 2, 'mean': 2}",
         {"acc": {0: 1.0, 1: 3.0, 2: 2.0}, "acc.max": {0: 1.0, 1: 3.0}, "acc.mean": {0: 1.0, 1: 2.0}}),
    Line("wandb.define_metric('a', summary='best', goal='maximize')\nfor x in (1, 3, 2): wandb.log({'a': x})\n"
         "assert run.summary['a']['best'] == 3",
         {"a": {0: 1.0, 1: 3.0, 2: 2.0}, "a.best": {0: 1.0, 1: 3.0}}),
    Line("wandb.define_metric('val/*', step_metric='epoch', summary='best,first', goal='minimize')\n"
         "for e in (1, 2, 3): wandb.log({'val/a': 3 - e % 2, 'epoch': 10 * e})",
         {"val/a": {10: 2.0, 20: 3.0, 30: 2.0}, "val/a.best": {10: 2.0}, "val/a.first": {10: 2.0},
          "epoch": {10: 10.0, 20: 20.0, 30: 30.0}}),
    Line("run.define_metric('a', summary='min,max')\nfor x in (float('inf'), 2, float('nan'), 1): run.log({'a': x})\n"
         "assert run.summary['a'] == {'min': 1, 'max': float('inf')}",
         {"a": {0: "inf", 1: 2.0, 2: "nan", 3: 1.0}, "a.min": {0: "inf", 1: 2.0, 3: 1.0},
          "a.max": {0: "inf"}}),
    Line("run.define_metric('a', summary='last,copy')\nrun.log({'a': 1})\nassert run.summary['a'] == {'last': 1, 'copy': 1}",
         {"a": {0: 1.0}}),
    Line("wandb.define_metric('a', summary='none')\nwandb.log({'a': 1})\nassert 'a' not in run.summary", {"a": {0: 1.0}}),
    Line("wandb.define_metric('a', summary='largest')", error="define_metric: summary is of min, max"),
    Line("step = wandb.define_metric('epoch')\nwandb.define_metric('val/*', step_metric=step)\n"
         "for e in (10, 20): wandb.log({'val/loss': e, 'train': e, 'epoch': e})",
         {"val/loss": {10: 10.0, 20: 20.0}, "train": {0: 10.0, 1: 20.0}, "epoch": {10: 10.0, 20: 20.0}}),
    Line("run.define_metric('gs')\nrun.define_metric('*', step_metric='gs', step_sync=True)\n"
         "run.log({'loss': 1, 'gs': 100}); run.log({'eval': 2})",
         {"loss": {100: 1.0}, "gs": {100: 100.0}, "eval": {100: 2.0}}),
    Line("run.define_metric('loss', step_metric='epoch')\nrun.log({'loss': 1, 'epoch': .5})",
         {"loss": {0: 1.0}, "epoch": {0: 0.5}}, ["epoch as the steps of loss is not whole: the order of logging counts",
                                                 "epoch as the steps of epoch is not whole: the order of logging counts"]),
    Line("run.define_metric('loss', step_metric='epoch')\nfor x in (1, 2): run.log({'loss': x, 'epoch': 4})",
         {"loss": {4: 2.0}, "epoch": {4: 4.0}}, ["loss has several values at one step of define_metric: the last one counts"]),
    Line("run.define_metric('a', step_metric='e', step_sync=False)\nrun.log({'e': 7})\nrun.log({'a': 1}); run.log({'a': 2, 'e': 9})",
         {"e": {7: 7.0, 9: 9.0}, "a": {1: 1.0, 9: 2.0}}),
    Line("run.define_metric('x', hidden=True, overwrite=True); run.define_metric(name='y', step_sync=False)"),
]  # fmt: skip

SHOWN = [
    Line("wandb.log({'loss': 1, 'x': wandb.Image([[0]], caption='c')})", LOSS, gone("wandb.Image", "x (Image)")),
    Line("wandb.log({'loss': 1, 'x': [wandb.Image('a.png'), wandb.Image('b.png')]})", LOSS, gone("wandb.Image", "x (list)")),
    Line("wandb.log({'loss': 1, 'h': wandb.Histogram([1, 2]), 'g': wandb.Histogram(np_histogram=([1], [0, 1]))})", LOSS,
         gone("wandb.Histogram", "h (Histogram)", "g (Histogram)")),
    Line("wandb.log({'v': wandb.Video('a.mp4', fps=4), 'a': wandb.Audio([0.0], sample_rate=8), 'h': wandb.Html('<p>')})", {},
         gone("wandb.Video", "wandb.Audio", "wandb.Html", "v (Video)", "a (Audio)", "h (Html)")),
    Line("wandb.Object3D([[0, 0, 0]]); wandb.Molecule('a.pdb'); wandb.Plotly(None); wandb.Graph(); wandb.Classes([])", {},
         gone("wandb.Object3D", "wandb.Molecule", "wandb.Plotly", "wandb.Graph", "wandb.Classes")),
    Line("t = wandb.Table(columns=['a', 'b'])\nt.add_data(1, 2); t.add_row(3, 4)\nassert t.data == [[1, 2], [3, 4]]\n"
         "t.add_column('c', [5, 6])\nassert t.get_column('c') == [5, 6] and t.columns == ['a', 'b', 'c']\n"
         "assert [row for _, row in t.iterrows()][0] == [1, 2, 5] and t.get_index() == [0, 1]\nwandb.log({'t': t})", {},
         gone("wandb.Table", "t (Table)")),
    Line("t = wandb.Table(columns=['a'], data=[[1], [2]])\nassert t.data[1] == [2]\nwandb.Table.MAX_ROWS = 10", {},
         gone("wandb.Table")),
    Line("class Frame:\n    columns = ['a']\n    values = [[1], [2]]\nassert wandb.Table(dataframe=Frame()).data == [[1], [2]]",
         {}, gone("wandb.Table")),
    Line("wandb.Table(columns=['a']).add_data(1, 2)", {}, gone("wandb.Table"), error="this table has 1 columns"),
    Line("wandb.log({'pr': wandb.plot.pr_curve([0], [[1, 0]]), 'loss': 1})", LOSS,
         gone("wandb.plot.pr_curve", "pr (_Said)")),
    Line("wandb.plot.confusion_matrix(probs=None, y_true=[0], preds=[0], class_names=['a'])", {},
         gone("wandb.plot.confusion_matrix")),
    Line("from wandb.plot import line, bar\nline(None, 'x', 'y', title='t'); bar(None, 'a', 'b')", {},
         gone("wandb.plot.line", "wandb.plot.bar")),
    Line("wandb.plot_table('v', None, {}, {}); wandb.visualize('id', None)", {}, gone("wandb.plot_table", "wandb.visualize")),
    Line("wandb.sklearn.plot_roc([0], [[1, 0]], ['a'])", {}, gone("wandb.sklearn.plot_roc")),
    Line("from wandb.sklearn import plot_classifier\nplot_classifier(None, 1, 2)", {}, gone("wandb.sklearn.plot_classifier")),
    Line("wandb.watch(object(), log='all', log_freq=100, log_graph=True)\nwandb.unwatch()", {}, gone("wandb.watch")),
    Line("run.watch([object()], criterion=None)\nrun.unwatch()", {}, gone("wandb.watch")),
]  # fmt: skip

COPIES = "wandb.save copies nothing: files stay where they are"

FILES = [
    Line("open('m.pt', 'w').close()\nassert wandb.save('m.pt') == ['m.pt']\nrun.save('*.pt', policy='now', base_path='.')",
         {}, [COPIES]),
    Line("open('m.pt', 'w').close()\na = wandb.Artifact('model', type='model', description='d', metadata={'acc': 1})\n"
         "a.add_file('m.pt', name='x'); a.add_dir('.'); a.add_reference('s3://b/k')\nassert a.metadata['acc'] == 1\n"
         "a.metadata['f1'] = 2\nrun.log_artifact(a, aliases=['best']).wait()\nprint(a.name, a.version, a.aliases)", {},
         gone("wandb.Artifact") + [KEPT]),
    Line("a = wandb.Artifact('d', 'dataset')\nwith a.new_file('a/b.txt', mode='w') as f: f.write('x')\n"
         "assert open(f.name).read() == 'x'\na.add(wandb.Table(), 't')", {}, gone("wandb.Artifact", "wandb.Table")),
    Line("wandb.Artifact('d', 'dataset').add_file('nowhere')", {}, gone("wandb.Artifact"), error="there is no file nowhere"),
    Line("a = wandb.log_artifact('m.pt', name='m', type='model')\nassert a.name == 'm'\nrun.log_model('m.pt', name='m')\n"
         "run.link_model('m.pt', 'registry')\nrun.link_artifact(a, 'x')", {},
         [KEPT] + gone("wandb.Artifact", "wandb.link_artifact")),
    Line("run.use_artifact('data:latest').download()", error="use_artifact asks W&B's service; name the file"),
    Line("wandb.use_model('m:v0')", error="asks W&B's service"),
    Line("wandb.Artifact('a', 'b').download()", {}, gone("wandb.Artifact"), error="artifacts are not kept here"),
    Line("open('w.txt', 'w').write('x')\nassert wandb.restore('w.txt').read() == 'x'"),
    Line("wandb.restore('w.txt', run_path='a/b/c')", error="restore: there is no file w.txt here"),
    Line("api = wandb.Api(timeout=19)\napi.runs('team/p')", error="wandb.Api().runs asks W&B's service"),
    Line("from wandb.apis.public import Api\ntry:\n    Api().run('a/b/c')\nexcept wandb.errors.Error as e:\n    print(e)"),
]  # fmt: skip

SWEEPS = [
    no_run("def train():\n    with wandb.init() as run:\n        run.log({'loss': wandb.config.lr})\n"
           "sweep_id = wandb.sweep({'method': 'grid'}, project='p')\nwandb.agent(sweep_id, function=train, count=5)",
           {"loss": {0: 0.5}},
           ["wandb.sweep: the sweep file says which trials there are, not what is passed here",
            "wandb.agent calls the function once: Thalweg starts a process for each configuration"],
           config={"lr": 0.5}),
    no_run("wandb.agent('abc')", error="trials are started by Thalweg"),
    no_run("wandb.controller('abc')", error="thalwegd is the controller here"),
]  # fmt: skip

MODULES = [
    no_run("import wandb.sdk\nfrom wandb.sdk.wandb_run import Run\nfrom wandb.wandb_run import Run as R\n"
           "assert Run is R is wandb.Run and isinstance(wandb.init(), Run)"),
    no_run("from wandb.sdk.lib import RunDisabled\nassert not isinstance(wandb.init(), RunDisabled)"),
    no_run("def f(run: wandb.sdk.wandb_run.Run, c: 'wandb.wandb_sdk.wandb_config.Config' = None): return run\nf(wandb.init())"),
    no_run("from wandb.errors import CommError, UsageError, Error\nassert issubclass(CommError, Error) and wandb.errors.Error is Error"),
    no_run("from wandb.sdk.lib.config_util import ConfigError\ntry:\n    raise ConfigError('x')\nexcept wandb.Error:\n    pass"),
    no_run("from wandb.data_types import Table, Image, WBValue\nassert Table is wandb.Table and Image is wandb.Image"),
    no_run("from wandb.util import generate_id\nassert len(wandb.util.generate_id()) == 8 and len(generate_id(5)) == 5"),
    no_run("import wandb.util as u, wandb.env, wandb.proto.wandb_internal_pb2, wandb.old.summary"),
    no_run("from wandb.sdk.lib import telemetry\nwith telemetry.context() as tel:\n    tel.feature.x = True", {},
           gone("wandb.sdk.lib.telemetry.context")),
    no_run("from wandb.integration.langchain import WandbTracer\nWandbTracer({}).finish()", {}, gone("wandb.WandbTracer")),
    no_run("from wandb.integration.openai import autolog\nautolog({'project': 'p'})", {}, gone("wandb.integration.openai.autolog")),
    no_run("import importlib.util, importlib.metadata\nassert importlib.util.find_spec('wandb')\n"
           "assert [int(x) for x in importlib.metadata.version('wandb').split('.')] >= [0, 12, 10]"),
    no_run("assert not hasattr(wandb, '_attach') and getattr(wandb, 'define_metric', None)\n"
           "assert tuple(map(int, wandb.__version__.split('+')[0].split('.'))) >= (0, 12, 10)"),
    no_run("from wandb import *\nfrom wandb import Settings, Artifact, Histogram\nSettings(silent=True)"),
    Line("import wandb.beta.workflows as w\nw.log_model('m.pt', 'm')\nw.link(1)", {},
         [KEPT] + gone("wandb.Artifact", "wandb.beta.workflows.link")),
]  # fmt: skip

LINES = INIT + RUN + LOG + CONFIG + SUMMARY + SHOWN + FILES + SWEEPS + MODULES
