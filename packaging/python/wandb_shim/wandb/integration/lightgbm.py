"""A callback for LightGBM: `train(callbacks=[wandb_callback()])` logs DATA_METRIC of each iteration."""

from wandb import _run
from wandb._dropped import note


def wandb_callback(log_params=True, define_metric=True):
    def callback(env):
        run = _run.need("wandb_callback()")
        if log_params and env.iteration == env.begin_iteration:
            run.config.update(env.params)
        values = {"iteration": env.iteration}
        for item in env.evaluation_result_list:
            # Of cv() before LightGBM 4.7: ("cv_agg", "valid l2", mean, more is better, deviation).
            name = "_".join(item[1].split() if " " in item[1] else item[:2])
            if len(item) == 4 or item[4] is None:
                values[name] = item[2]
            else:
                values[name + "-mean"], values[name + "-stdv"] = item[2], item[4]
        run.log(values)

    callback.order, callback.before_iteration = 20, False
    return callback


def log_summary(model, feature_importance=True, save_model_checkpoint=False):
    run = _run.need("log_summary()")
    run.summary["best_iteration"] = model.best_iteration
    run.summary["best_score"] = {data: dict(metrics) for data, metrics in dict(model.best_score).items()}
    if feature_importance:
        note("log_summary: the importance of features is not recorded")
    if save_model_checkpoint:
        note("log_summary(save_model_checkpoint=True) keeps no model: save it yourself")
