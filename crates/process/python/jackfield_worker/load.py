"""Loads one file as an extension: compiled from its source each time, with its helpers importable, and every way in which
that can fail told with the file and the line."""

import importlib.machinery
import importlib.util
import inspect
import linecache
import os
import sys
import types

from . import api, results
from .parameters import Parameters, open_parameters

MOST_SOURCE = 8 * 1024 * 1024
CHANNEL_FUNCTIONS = ("connect", "recv", "send")


class CannotLoad(Exception):
    """The file is no extension; the text says why, where, and what to do."""


class Fresh(importlib.machinery.SourceFileLoader):
    """Compiles helpers from their source each time: byte code may be older than a save within the same second."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class Extension:
    """A loaded file."""

    def __init__(self, path, role, name):
        self.path = path
        self.role = role
        self.name = name
        self.folder = os.path.dirname(path)
        self.warnings = []
        self.module = self._load()
        self.description = ""
        self.parameters = None
        if role == "channel":
            self._channel()
        else:
            self._tool()

    def own(self, file):
        """Whether a file is the extension's or one of its helpers."""
        return file == self.path or (file.startswith(self.folder + os.sep) and "site-packages" not in file)

    def _load(self):
        source = self._source()
        lines = source.decode("utf-8", "replace").splitlines(True)
        # What is shown of a traceback is what runs, whatever becomes of the file.
        linecache.cache[self.path] = (len(source), None, lines, self.path)
        package = "jackfield_%ss" % self.role
        _make_importable(self.folder, package)
        module = types.ModuleType("%s.%s" % (package, self.name))
        module.__file__ = self.path
        module.__package__ = package
        loader = Fresh(module.__name__, self.path)
        module.__loader__ = loader
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, loader, origin=self.path)
        module.__dict__.update(api.GIVEN)
        sys.modules[module.__name__] = module
        try:
            code = compile(source, self.path, "exec", dont_inherit=True)
            exec(code, module.__dict__)
        except BaseException as error:  # noqa: B902 SystemExit and the like are the file's mistakes, too
            raise CannotLoad(self._trouble(error)) from None
        self._lend(module, code)
        return module

    def _source(self):
        try:
            with open(self.path, "rb") as file:
                source = file.read(MOST_SOURCE + 1)
        except OSError as error:
            raise CannotLoad("%s: cannot read it: %s" % (self.path, error.strerror or error)) from None
        if len(source) > MOST_SOURCE:
            raise CannotLoad("%s: it is larger than %d MiB; move data out of it" % (self.path, MOST_SOURCE >> 20))
        return source

    def _trouble(self, error):
        """`FILE:LINE: what is wrong`, and what to do about it."""
        name, said = type(error).__name__, str(error)
        place, _ = results.place_of(error, self.own)
        if isinstance(error, SyntaxError) and error.filename:
            place, said = (error.filename, error.lineno or 1), error.msg
            if error.text and error.text.strip():
                said += " (%s)" % error.text.strip()[:200]
        if isinstance(error, SystemExit):
            said = "it calls sys.exit(%s) while it is loaded; leave that out" % ("" if error.code is None else repr(error.code))
        elif isinstance(error, ModuleNotFoundError) and error.name:
            said += "; install it for %s, or in a virtual environment beside the extension (python3 -m venv %s)" % (
                results.interpreter(), os.path.join(self.folder, ".venv"),
            )
            said += ", then run `jackfield reload %s`" % os.environ.get("JACKFIELD_EXTENSION_ID", "")
        elif isinstance(error, ValueError) and "null bytes" in said:
            said += "; it is no text"
        where = "%s:%d" % place if place is not None else self.path
        return "%s: %s" % (where, "%s: %s" % (name, said) if said else name)

    def _lend(self, module, code):
        """Imports modules that the file uses by name and forgot to import."""
        import builtins

        missing = [name for name in _globals_used(code) if name not in module.__dict__ and not hasattr(builtins, name)]
        for name in dict.fromkeys(missing):
            try:
                if importlib.util.find_spec(name) is None:
                    continue
                module.__dict__[name] = __import__(name)
            except Exception:  # noqa: BLE001 then it stays missing and is reported when it is used
                continue
            self.warnings.append("%s uses %s without importing it; add `import %s`" % (self.path, name, name))

    def _function(self, name):
        function = getattr(self.module, name)
        if not callable(function):
            kind = type(function).__name__
            raise CannotLoad("%s: %s is %s %s, not a function; write `def %s(...)`" % (
                self.path, name, "an" if kind[0] in "aeiou" else "a", kind, name,
            ))
        if isinstance(function, type):
            raise CannotLoad("%s: %s is a class; write `def %s(...)`" % (self.path, name, name))
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            line = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_firstlineno", 1)
            raise CannotLoad("%s:%d: %s is a generator, because it uses yield; return a value instead" % (
                self.path, line, name,
            ))
        return function

    def _tool(self):
        if not hasattr(self.module, "run"):
            raise CannotLoad("%s: there is no function run; a tool is a file that defines `def run(...)`" % self.path)
        self.run = self._function("run")
        said = inspect.getdoc(self.run) or inspect.getdoc(self.module) or ""
        try:
            self.parameters = Parameters(self.run, said)
        except (TypeError, ValueError) as error:
            self.warnings.append("%s: any arguments are passed on: %s" % (self.path, error))
            self.parameters = open_parameters(said)
        self.description = self.parameters.description
        self.warnings.extend("%s: %s" % (self.path, warning) for warning in self.parameters.warnings)

    def _channel(self):
        missing = [name for name in CHANNEL_FUNCTIONS if not hasattr(self.module, name)]
        if missing:
            raise CannotLoad("%s: missing %s; a channel is a file that defines connect(), recv() and send()" % (
                self.path, ", ".join(missing),
            ))
        self.connect, self.recv, self.send = (self._function(name) for name in CHANNEL_FUNCTIONS)
        self.disconnect = next(
            (getattr(self.module, name) for name in ("disconnect", "close") if callable(getattr(self.module, name, None))), None
        )
        self.send_takes = self._send_takes()
        said = inspect.getdoc(self.module) or inspect.getdoc(self.connect) or ""
        self.description = said.strip()

    def _send_takes(self):
        """One parameter: the answer as a message. Two: what came in, and the text of the answer."""
        try:
            parameters = list(inspect.signature(self.send).parameters.values())
        except (TypeError, ValueError):
            return 2
        usual = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        fixed = [parameter for parameter in parameters if parameter.kind in usual]
        needed = [parameter for parameter in fixed if parameter.default is inspect.Parameter.empty]
        if any(parameter.kind == inspect.Parameter.VAR_POSITIONAL for parameter in parameters) and len(needed) < 2:
            return 2 if not fixed else len(needed) or 1
        if len(needed) in (1, 2):
            return len(needed)
        if not needed and fixed:
            return min(len(fixed), 2)
        raise CannotLoad("%s: send takes %d parameters; write `send(message)` or `send(incoming, text)`" % (
            self.path, len(needed),
        ))

    def frames(self):
        """What the extension registers."""
        if self.role == "channel":
            return [{"type": "register_channel", "name": self.name, "description": self.description}]
        frame = {
            "type": "register_tool", "name": self.name, "description": self.description,
            "schema": self.parameters.schema,
        }
        if self.warnings:
            frame["warnings"] = self.warnings
        return [frame]


def _globals_used(code):
    """The global names that code and the functions in it read."""
    import dis

    pending, names = [code], []
    while pending:
        code = pending.pop()
        names.extend(step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
        pending.extend(inner for inner in code.co_consts if isinstance(inner, types.CodeType))
    return [name for name in names if isinstance(name, str)]


def _make_importable(folder, package):
    """Files beside the extension can be imported, by name and relatively. They come last, so that they hide nothing."""
    details = (
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (Fresh, importlib.machinery.SOURCE_SUFFIXES),
    )

    def hook(path):
        if path != folder and not (path.startswith(folder + os.sep) and "site-packages" not in path):
            raise ImportError(path)
        return importlib.machinery.FileFinder(path, *details)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.pop(folder, None)
    if folder not in sys.path:
        sys.path.append(folder)
    around = types.ModuleType(package)
    around.__path__ = [folder]
    sys.modules[package] = around
