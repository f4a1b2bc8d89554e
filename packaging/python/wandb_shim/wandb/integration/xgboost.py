"""A callback for XGBoost: `train(callbacks=[WandbCallback()])` logs DATA-METRIC of each iteration."""

import json

import xgboost

from wandb import _run
from wandb._dropped import note


class WandbCallback(xgboost.callback.TrainingCallback):
    def __init__(self, log_model=False, log_feature_importance=True, importance_type="gain", define_metric=True):
        super().__init__()
        _run.need("WandbCallback()")
        if log_model:
            note("WandbCallback(log_model=True) keeps no model: save it yourself")
        if log_feature_importance:
            note("WandbCallback: the importance of features is not recorded")

    def before_training(self, model):
        _run.need().config.update(json.loads(model.save_config()))
        return model

    def after_iteration(self, model, epoch, evals_log):
        values = {
            "%s-%s" % (data, metric): history[-1][0] if isinstance(history[-1], tuple) else history[-1]
            for data, metrics in evals_log.items()
            for metric, history in metrics.items()
        }
        _run.need().log(dict(values, epoch=epoch))
        return False

    def after_training(self, model):
        if model.attr("best_score") is not None:
            best = {"best_score": float(model.attr("best_score")), "best_iteration": int(model.attr("best_iteration"))}
            _run.need().log(best)
        return model


def wandb_callback():
    """Of XGBoost before 1.3, which called functions."""

    def callback(env):
        _run.need().log(dict(env.evaluation_result_list))

    return callback
