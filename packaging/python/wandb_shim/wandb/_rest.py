"""Names of W&B's package that have no file here. `import wandb.sdk.wandb_run` works, and so does what is in it:
a name that `wandb` itself has is that; of all others a class is dropped, and a function is taken and noted."""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

from wandb._dropped import drop, dropped_class, nothing

# Where else W&B has the modules that are files here.
ELSEWHERE = {
    "wandb.catboost": "wandb.integration.catboost",
    "wandb.integration.keras.keras": "wandb.integration.keras",
    "wandb.integration.keras.callbacks": "wandb.integration.keras",
    "wandb.integration.lightgbm.lightgbm": "wandb.integration.lightgbm",
    "wandb.integration.sb3.sb3": "wandb.integration.sb3",
    "wandb.integration.tensorboard": "wandb.tensorboard",
    "wandb.integration.xgboost.xgboost": "wandb.integration.xgboost",
    "wandb.keras": "wandb.integration.keras",
    "wandb.lightgbm": "wandb.integration.lightgbm",
    "wandb.sb3": "wandb.integration.sb3",
    "wandb.xgboost": "wandb.integration.xgboost",
}


class Rest(types.ModuleType):
    """A module and, as nobody knows which of the two a small name is, a function."""

    def __getattr__(self, name):
        return find(self.__name__, name)

    def __call__(self, *args, **kwargs):
        drop(self.__name__)
        return nothing()


def find(module, name):
    """What `module`.`name` is, where it is nothing that there is a file for."""
    if name.startswith("_"):
        raise AttributeError("module %r has no attribute %r" % (module, name))
    here = vars(sys.modules["wandb"]).get(name)
    if here is not None and not isinstance(here, types.ModuleType):
        return here
    if name[0].isupper():
        made = dropped_class(name, module)
        setattr(sys.modules[module], name, made)
        return made
    return importlib.import_module(module + "." + name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last: files of this package, and of others, are found before."""

    def find_spec(self, fullname, path=None, target=None):
        last = fullname.rpartition(".")[2]
        if not fullname.startswith("wandb.") or last.startswith("_"):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        if spec.name in ELSEWHERE:
            return None
        return Rest(spec.name)

    def exec_module(self, module):
        name = module.__spec__.name
        if name in ELSEWHERE:
            sys.modules[name] = importlib.import_module(ELSEWHERE[name])


def install():
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
