"""tensorboardX 2.6.5, tensorboardX/event_file_writer.py."""


class EventFileWriter:
    def __init__(self, logdir, max_queue_size=10, flush_secs=120, filename_suffix=""):
        self._logdir = logdir

    def get_logdir(self):
        return self._logdir

    def add_event(self, event):
        pass
