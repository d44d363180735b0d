"""Serves one file: reads frames, runs its functions, answers. Plain functions run in threads, coroutines in an event loop
that is made only if there is one."""

import faulthandler
import inspect
import os
import queue
import sys
import threading

from . import api, results
from .load import CannotLoad, Extension
from .scalars import Bad
from .wire import CHUNK, Wire, capture_output

#: A file that is still being loaded then is likely to be stuck; where goes to the log.
STUCK_AFTER = 8
CAPABILITIES = ["tools", "channels", "tool_cancel", "cancel_answered", "host_call", "progress", "log"]


class Cancelled(BaseException):
    """Raised inside a plain function whose caller gave up."""


class Call:
    """A call under way."""

    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.thread = None
        self.task = None
        self.cancelled = False
        self.answered = False


#: The most plain functions that run at the same time; further ones wait.
MOST_THREADS = 256


class Threads:
    """Threads that wait for work; as many as there are plain functions at work at the same time."""

    def __init__(self):
        self._jobs = queue.SimpleQueue()
        self._idle = 0
        self._count = 0
        self._lock = threading.Lock()

    def run(self, job):
        with self._lock:
            needed = self._idle <= 0 and self._count < MOST_THREADS
            if needed:
                self._count += 1
            else:
                self._idle -= 1
        if needed:
            threading.Thread(target=self._work, args=(job,), daemon=True).start()
        else:
            self._jobs.put(job)

    def _work(self, job):
        while True:
            # A thread that was interrupted is not used again: the interruption may come late.
            if not job():
                with self._lock:
                    self._count -= 1
                    # Whoever waited for this one gets another.
                    replace = self._idle < 0
                    if replace:
                        self._count += 1
                        self._idle += 1
                if replace:
                    threading.Thread(target=self._work, args=(self._jobs.get(),), daemon=True).start()
                return
            with self._lock:
                self._idle += 1
            job = self._jobs.get()


class Worker:
    """One extension at work."""

    def __init__(self, wire, extension):
        self.wire = wire
        self.extension = extension
        self.calls = {}
        self.changed = threading.Condition()
        self.threads = Threads()
        self.loop = None
        self.tasks = set()
        self.channel = None
        if extension.role == "channel":
            from .channel import Channel

            self.channel = Channel(self, extension)

    def serve(self):
        """Until the host says goodbye."""
        if any(inspect.iscoroutinefunction(function) for function in self._functions()):
            import asyncio

            asyncio.run(self._serve_in_loop(asyncio))
        else:
            for frame in self.wire.frames():
                if not self.handle(frame):
                    break
            else:
                return
            with self.changed:
                while self.calls:
                    self.changed.wait()

    def _functions(self):
        if self.channel is not None:
            return self.channel.functions()
        return [self.extension.run, getattr(self.extension.run, "__call__", None)]

    async def _serve_in_loop(self, asyncio):
        self.loop = asyncio.get_running_loop()
        over = self.loop.create_future()
        deserted = []

        def finish():
            if not over.done():
                over.set_result(None)

        def take(data):
            if not data and not over.done():
                deserted.append(True)
            frames = self.wire.feed(data) if data else []
            if not data or not all([self.handle(frame) for frame in frames]):
                finish()

        def readable():
            data = os.read(self.wire.fd, CHUNK)
            if not data:
                self.loop.remove_reader(self.wire.fd)
            take(data)

        def read_on():
            while True:
                data = os.read(self.wire.fd, CHUNK)
                self.loop.call_soon_threadsafe(take, data)
                if not data:
                    return

        try:
            self.loop.add_reader(self.wire.fd, readable)
        except NotImplementedError:
            threading.Thread(target=read_on, daemon=True).start()
        await over
        while self.calls and not deserted:
            await asyncio.sleep(0.01)

    def handle(self, frame):
        """False when it is time to go."""
        kind = frame.get("type")
        if kind == "tool_call":
            self._tool_call(frame)
        elif kind == "channel_call" and self.channel is not None:
            self.channel.handle(frame)
        elif kind == "tool_cancel":
            self._cancel(frame.get("id"))
        elif kind == "host_result":
            api.line.answered(frame)
        elif kind == "shutdown":
            self.wire.send({"type": "shutdown_ack"})
            if self.channel is not None:
                self.channel.leave()
            return False
        return True

    def _tool_call(self, frame):
        call = Call(frame["id"])
        self.calls[call.name] = call
        try:
            positional, named = self.extension.parameters.bind(frame.get("args") or {})
        except Bad as error:
            text = "bad arguments for tool %s: %s" % (self.extension.name, error)
            return self.answer(call, self._refusal(text))
        except Exception as error:  # noqa: BLE001 a class of the extension may do anything when it is made
            return self.answer(call, self._failure(error))
        self.start(call, self.extension.run, positional, named, lambda outcome: self.answer(call, outcome))

    @staticmethod
    def _refusal(text):
        return {"content": [{"type": "text", "text": text}], "is_error": True}

    def start(self, call, function, positional, named, done, convert=None):
        """Runs a function and tells `done` what goes into the answer."""
        convert = convert or self._result
        if self.loop is not None and (
            inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))
        ):
            call.task = self.loop.create_task(self._in_loop(call, function, positional, named, done, convert))
            # The loop holds tasks weakly.
            self.tasks.add(call.task)
            call.task.add_done_callback(self.tasks.discard)

            def never_begun(task):
                # One that is cancelled before its first step does not come to say so itself.
                if task.cancelled():
                    done(dict(self._refusal("the call was given up"), cancelled=True))

            call.task.add_done_callback(never_begun)
        else:
            self.threads.run(lambda: self._in_thread(call, function, positional, named, done, convert))

    async def _in_loop(self, call, function, positional, named, done, convert):
        import asyncio

        api.current_call.set(call.name)
        try:
            outcome = convert(await function(*positional, **named))
        except asyncio.CancelledError:
            outcome = self._refusal("the call was given up") if call.cancelled else self._refusal("run cancelled itself")
            outcome["cancelled"] = True
        except BaseException as error:  # noqa: B902 sys.exit ends the call, not the worker
            outcome = self._failure(error)
        done(outcome)

    def _in_thread(self, call, function, positional, named, done, convert):
        """True if the thread may be used again."""
        token = api.current_call.set(call.name)
        with call.lock:
            call.thread = threading.get_ident()
            given_up = call.cancelled
        try:
            if given_up:
                raise Cancelled
            value = function(*positional, **named)
            if inspect.isawaitable(value):
                import asyncio

                value = asyncio.run(_awaited(value))
            outcome = convert(value)
        except Cancelled:
            outcome = self._refusal("the call was given up")
            outcome["cancelled"] = True
        except BaseException as error:  # noqa: B902
            outcome = self._failure(error)
        while True:
            try:
                with call.lock:
                    call.thread = None
                done(outcome)
                api.current_call.reset(token)
                return not call.cancelled
            except Cancelled:
                if call.answered:
                    return False

    def _result(self, value):
        blocks, details = results.content(value)
        outcome = {"content": blocks}
        if details is not None:
            outcome["structured_content"] = details
        return outcome

    def _failure(self, error):
        title = results.finished_by_exit(error) if isinstance(error, SystemExit) else None
        blocks, details = results.failure(error, self.extension.own, title)
        return {"content": blocks, "is_error": True, "structured_content": details}

    def answer(self, call, outcome):
        """Answers a tool call, once."""
        if call.answered:
            return
        outcome.pop("cancelled", None)
        frame = dict({"type": "tool_result", "id": call.name}, **outcome)
        try:
            self.wire.send(frame)
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            text = "the result cannot be sent: %s: %s" % (type(error).__name__, error)
            self.wire.send(dict({"type": "tool_result", "id": call.name}, **self._refusal(text)))
        call.answered = True
        self.forget(call)

    def forget(self, call):
        with self.changed:
            self.calls.pop(call.name, None)
            self.changed.notify_all()

    def _cancel(self, name):
        if self.channel is not None and self.channel.cancel(name):
            return
        call = self.calls.get(name)
        if call is None:
            return
        with call.lock:
            call.cancelled = True
            if call.task is not None:
                call.task.cancel()
            elif call.thread is not None:
                interrupt(call.thread)


async def _awaited(value):
    return await value


def interrupt(thread):
    """Asks a thread to stop at its next step. One that is inside native code does not hear it; the host ends that."""
    try:
        import ctypes

        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))
    except (ImportError, AttributeError):
        pass


def load(wire, role, path, name):
    """The extension, or None after saying why not."""
    sys.argv = [path]
    faulthandler.dump_traceback_later(STUCK_AFTER)
    try:
        return Extension(path, role, name)
    except CannotLoad as error:
        wire.send({"type": "cannot_start", "message": str(error)})
        return None
    finally:
        faulthandler.cancel_dump_traceback_later()


def leave(status):
    """Ends without waiting for threads that nobody needs any more."""
    try:
        import atexit

        atexit._run_exitfuncs()
        sys.stderr.flush()
    except BaseException:  # noqa: B902 it ends, whatever a stranger's last words do
        pass
    os._exit(status)


def main(words):
    """What the host starts."""
    # A crash in native code leaves the line that it happened in.
    faulthandler.enable(all_threads=False)
    wire = Wire()
    if words[:1] == ["describe"]:
        from .describe import describe

        describe(wire)
        os._exit(0)
    role, path, name = words
    finish = capture_output(wire)
    extension = load(wire, role, path, name)
    finish()
    if extension is None:
        os._exit(1)
    wire.send({"type": "hello", "name": extension.name, "version": "", "capabilities": CAPABILITIES, "interpreter": sys.executable})
    for frame in extension.frames():
        wire.send(frame)
    wire.send({"type": "ready"})
    api.line.wire = wire
    worker = Worker(wire, extension)
    try:
        worker.serve()
    finally:
        finish()
    leave(0)
