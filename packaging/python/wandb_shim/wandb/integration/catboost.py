"""A callback for CatBoost: `fit(callbacks=[WandbCallback()])` logs DATA-METRIC of each iteration."""

from wandb import _run
from wandb._dropped import note


class WandbCallback:
    def __init__(self, metric_period=1):
        _run.need("WandbCallback()")
        self.metric_period, self._known = metric_period, 0

    def after_iteration(self, info):
        """With metric_period the same values come again until there are new ones."""
        count = sum(len(history) for metrics in info.metrics.values() for history in metrics.values())
        if count > self._known:
            self._known = count
            values = {
                "%s-%s" % (data, metric): history[-1]
                for data, metrics in info.metrics.items()
                for metric, history in metrics.items()
            }
            name = "iteration@metric-period-%s" % self.metric_period
            _run.need().log(dict(values, **{name: info.iteration}))
        return True


def log_summary(model, log_all_params=True, save_model_checkpoint=False, log_feature_importance=True):
    run = _run.need("log_summary()")
    params = model.get_all_params() if log_all_params else model.get_params()
    run.config.update(params)
    run.summary["best_iteration"] = model.get_best_iteration()
    run.summary["best_score"] = model.get_best_score()
    if log_feature_importance:
        note("log_summary: the importance of features is not recorded")
    if save_model_checkpoint:
        note("log_summary(save_model_checkpoint=True) keeps no model: save it yourself")
