"""Tables, artifacts and what is to be looked at. Only what a script itself reads back is kept."""

import os
import tempfile

from wandb._dropped import Dropped, Error, dropped_class

SHOWN = (
    "Audio", "Bokeh", "Classes", "EvalTable", "Graph", "Histogram", "Html", "Image", "JoinedTable", "Molecule",
    "Object3D", "Plotly", "Video", "box3d",
)  # fmt: skip
shown = {name: dropped_class(name) for name in SHOWN}


class Table(Dropped):
    """Rows and columns that the script can read back; a dataframe's, too."""

    MAX_ROWS = 10_000
    MAX_ARTIFACT_ROWS = 200_000

    def __init__(self, columns=None, data=None, rows=None, dataframe=None, **others):
        super().__init__()
        if dataframe is not None:
            columns, data = list(dataframe.columns), dataframe.values
        self.columns = list(columns) if columns is not None else ["Input", "Output", "Expected"]
        data = data if data is not None else rows
        self.data = [list(row) for row in data] if data is not None else []

    def add_data(self, *row):
        if len(row) != len(self.columns):
            raise ValueError("this table has %d columns: %s" % (len(self.columns), self.columns))
        self.data.append(list(row))

    def add_row(self, *row):
        self.add_data(*row)

    def add_column(self, name, data, optional=False):
        data = list(data)
        if self.data and len(data) != len(self.data):
            raise ValueError("this table has %d rows, the column %d" % (len(self.data), len(data)))
        self.columns.append(name)
        self.data = [row + [x] for row, x in zip(self.data or [[] for _ in data], data)]

    def get_column(self, name, convert_to=None):
        at = self.columns.index(name)
        column = [row[at] for row in self.data]
        if convert_to == "numpy":
            import numpy

            return numpy.array(column)
        return column

    def get_dataframe(self):
        import pandas

        return pandas.DataFrame.from_records(self.data, columns=self.columns)

    def get_index(self):
        return list(range(len(self.data)))

    def iterrows(self):
        yield from enumerate(self.data)


class Artifact(Dropped):
    """A name for files, which stay where they are."""

    def __init__(self, name="", type="", description=None, metadata=None, **others):
        super().__init__()
        self.name, self.type, self.description = name, type, description
        self.metadata = dict(metadata or {})
        self.version, self.aliases, self.tags, self.id, self.state = "v0", [], [], None, "COMMITTED"
        self._folder = None

    def add_file(self, local_path, *args, **kwargs):
        if not os.path.isfile(local_path):
            raise ValueError("there is no file %s" % local_path)
        return self

    def add_dir(self, local_path, *args, **kwargs):
        if not os.path.isdir(local_path):
            raise ValueError("there is no folder %s" % local_path)

    def new_file(self, name, mode="w", encoding=None):
        """Really a file, for as long as the process lives."""
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="artifact-")
        path = os.path.join(self._folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, mode, encoding=encoding)

    def _ask(self, *args, **kwargs):
        raise Error(
            "artifacts are not kept here: name the file itself, as a parameter or under config of the sweep file"
        )

    download = checkout = file = files = get_path = get_entry = used_by = logged_by = _ask


class Api:
    """Can be made; whatever is asked of it would be W&B's to answer."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Error(
            "wandb.Api().%s asks W&B's service; thalweg.frame(ID) and `thalweg query` read the record" % name
        )
