"""XGBoost 3.2.0, xgboost/callback.py (CallbackContainer) and xgboost/training.py."""


class callback:
    class TrainingCallback:
        def before_training(self, model):
            return model

        def after_training(self, model):
            return model

        def before_iteration(self, model, epoch, evals_log):
            return False

        def after_iteration(self, model, epoch, evals_log):
            return False


class Booster:
    def save_config(self):
        return '{"learner": {"objective": {"name": "reg:squarederror"}}}'

    def attr(self, name):
        return {"best_score": "0.25", "best_iteration": "1"}.get(name)


def train(rounds, callbacks, cv=False):
    model, history = Booster(), {}
    for c in callbacks:
        model = c.before_training(model=model)
        assert model, "before_training should return the model"
    for epoch in range(rounds):
        if any(c.before_iteration(model, epoch, history) for c in callbacks):
            break
        value = 1.0 / (epoch + 1)
        for data in ("train", "val"):
            history.setdefault(data, {}).setdefault("rmse", []).append((value, 0.5) if cv else value)
        if any(c.after_iteration(model, epoch, history) for c in callbacks):
            break
    for c in callbacks:
        model = c.after_training(model=model)
    return model
