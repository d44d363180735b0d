"""The worker as the host sees it: frames in, frames out."""

import json
import os

from support import Talk, run, text_of, unittest

PNG = "b'\\x89PNG\\r\\n\\x1a\\n' + bytes(20)"


class Results(unittest.TestCase):
    def shows(self, body, text, details=None):
        answer = run("def run():\n    %s\n" % body.replace("\n", "\n    "))
        self.assertEqual(text_of(answer), text)
        self.assertNotIn("is_error", answer)
        self.assertEqual(answer.get("structured_content"), details)

    def test_values(self):
        self.shows("return 'text'", "text")
        self.shows("return {'a': 1, 2: (3, None)}", '{"a": 1, "2": [3, null]}', {"a": 1, "2": [3, None]})
        self.shows("return None", "null")
        self.shows("pass", "null")
        self.shows("return True", "true")
        self.shows("return 1.5", "1.5")
        self.shows("return b'text'", "text")
        self.shows("return 10 ** 400", str(10 ** 400))
        self.shows("return [float('nan'), 2 ** 70]", '["nan", "%d"]' % 2 ** 70, ["nan", str(2 ** 70)])
        self.shows("import dataclasses, datetime\n@dataclasses.dataclass\nclass P:\n    at: object\nreturn P(datetime.date(2026, 2, 21))",
                   '{"at": "2026-02-21"}', {"at": "2026-02-21"})
        self.shows("import pathlib\nreturn pathlib.Path('/a/b')", "/a/b")
        self.shows("return 'half \\ud800 character'", "half ? character")

    def test_pictures(self):
        answer = run("def run():\n    return ['before', %s]\n" % PNG)
        self.assertEqual([block["type"] for block in answer["content"]], ["text", "image"])
        self.assertEqual(answer["content"][1]["mime_type"], "image/png")

    def test_what_holds_itself_is_an_error(self):
        answer = run("def run():\n    a = []\n    a.append(a)\n    return a\n")
        self.assertTrue(answer["is_error"])
        self.assertIn("holds itself", text_of(answer))
        answer = run("def run():\n    yield_ = (x for x in [1])\n    return yield_\n")
        self.assertIn("return a list", text_of(answer))

    def test_deep_structures_stay_text(self):
        answer = run("def run():\n    a = 1\n    for _ in range(150):\n        a = [a]\n    return a\n")
        self.assertEqual(text_of(answer), "[" * 150 + "1" + "]" * 150)
        self.assertNotIn("structured_content", answer)

    def test_long_output_is_cut_and_kept(self):
        with Talk("def run(n: int):\n    return 'é' * n\n") as talk:
            talk.ready()
            answer = talk.call(n=1000000)
            details = answer["structured_content"]
            self.assertEqual((details["truncated"], details["characters"]), (True, 1000000))
            with open(details["file"], encoding="utf-8") as file:
                self.assertEqual(file.read(), "é" * 1000000)
            self.assertIn(details["file"], text_of(answer))
            self.assertLess(len(json.dumps(answer)), 1 << 21)
            self.assertEqual(os.stat(details["file"]).st_mode & 0o077, 0)
            for number in range(30):
                talk.call(str(number + 2), n=200000)
            self.assertEqual(len(os.listdir(os.path.dirname(details["file"]))), 20)


class Failures(unittest.TestCase):
    def fails(self, source, *texts):
        answer = run(source)
        self.assertTrue(answer["is_error"], answer)
        for text in texts:
            self.assertIn(text, text_of(answer))
        return answer

    def test_exceptions_name_their_place(self):
        source = "def run():\n    deeper()\n\ndef deeper():\n    raise ValueError('no')\n"
        answer = self.fails(source, "ValueError: no", "it.py:5", "in deeper", "raise ValueError('no')")
        details = answer["structured_content"]
        self.assertEqual((details["exception"], details["line"]), ("ValueError", 5))
        self.assertNotIn("jackfield_worker", text_of(answer))

    def test_exits_and_recursion_end_the_call_only(self):
        with Talk("import sys\ndef run(how: str):\n    if how == 'exit':\n        sys.exit(3)\n    return run(how) if how == 'deep' else how\n") as talk:
            talk.ready()
            self.assertIn("sys.exit(3)", text_of(talk.call("1", how="exit")))
            self.assertIn("RecursionError", text_of(talk.call("2", how="deep")))
            self.assertEqual(text_of(talk.call("3", how="fine")), "fine")

    def test_what_cannot_be_loaded_says_where_and_what_to_do(self):
        for source, texts in (
            ("def run(:\n", ["it.py:1: SyntaxError"]),
            ("\nimport nosuchmodule\n", ["it.py:2: ModuleNotFoundError", "venv"]),
            ("x = 1\n", ["it.py: there is no function run", "def run"]),
            ("run = 7\n", ["run is an int"]),
            ("class run:\n    pass\n", ["run is a class"]),
            ("async def run():\n    yield 1\n", ["it.py:1", "yield"]),
            ("def run():\n    yield 1\n", ["it.py:1", "yield"]),
            ("def run(x: NoSuchHint): pass\n", ["it.py:1: NameError"]),
            ("import sys\nsys.exit(2)\n", ["it.py:2", "sys.exit(2)"]),
            ("1 / 0\n", ["it.py:1: ZeroDivisionError"]),
            ("def f(): f()\nf()\n", ["RecursionError"]),
            ("import _helper\n", ["_helper.py:2: SyntaxError"]),
            ("x = '\0'\n", ["it.py"]),
        ):
            with self.subTest(source=source):
                with Talk(source, helpers={"_helper.py": "\ndef broken(:\n"}) as talk:
                    frame = talk.ready()[-1]
                    self.assertEqual(frame["type"], "cannot_start")
                    for text in texts:
                        self.assertIn(text, frame["message"])
        for source, text in (("async def recv(): pass\n", "missing connect, send"), ("def connect(): pass\ndef recv(): pass\n", "missing send"),
                             ("def connect(): pass\ndef recv(): pass\ndef send(a, b, c): pass\n", "send takes 3")):
            with Talk(source, role="channel") as talk:
                self.assertIn(text, talk.ready()[-1]["message"])


class Surroundings(unittest.TestCase):
    def test_prints_are_log_lines_and_input_is_empty(self):
        source = "import os, sys\nprint('at the beginning')\ndef run():\n    print('half', end='')\n    print(' and whole')\n    os.system('echo from below')\n    sys.stdout.buffer.write(b'bytes\\n')\n    try:\n        input()\n    except EOFError:\n        return 'no input'\n"
        with Talk(source) as talk:
            frames = talk.ready()
            self.assertEqual([frame["message"] for frame in frames if frame["type"] == "log"], ["at the beginning"])
            talk.send(type="tool_call", id="1", name="it", args={})
            seen = [talk.read(), talk.read(), talk.read()]
            self.assertEqual([frame.get("message") for frame in seen[:2]], ["half and whole", "bytes"])
            self.assertEqual(text_of(seen[2]), "no input")

    def test_helpers_are_importable_and_never_stale(self):
        source = "import _helper\nfrom . import _helper as again\nfrom ._package import inner\ndef run():\n    return [_helper.x, again.x, inner.x]\n"
        helpers = {"_helper.py": "x = 1\n", "_package/__init__.py": "", "_package/inner.py": "x = 2\n", "json.py": "raise SystemExit\n"}
        with Talk(source, helpers=helpers) as talk:
            talk.ready()
            self.assertEqual(text_of(talk.call()), "[1, 1, 2]")
            left = [name for _, dirs, _ in os.walk(talk.folder.name) for name in dirs]
            self.assertNotIn("__pycache__", left)

    def test_names_without_an_import(self):
        source = "def run():\n    return json.dumps(host.call('env', {'name': 'X'})) + Message('m').text\n"
        with Talk(source) as talk:
            frames = talk.ready()
            self.assertIn("json without importing it", frames[1]["warnings"][0])
            talk.send(type="tool_call", id="7", name="it", args={})
            call = talk.read("host_call")
            self.assertEqual((call["method"], call["params"], call["within"]), ("env", {"name": "X"}, "7"))
            talk.send(type="host_result", id=call["id"], output={"value": 1}, is_error=False)
            self.assertEqual(text_of(talk.read("tool_result")), '{"value": 1}m')

    def test_host_calls_are_awaited_in_coroutines_and_fail_as_exceptions(self):
        source = "from jackfield import HostError, host, log, progress\nasync def run():\n    progress('begun')\n    log('odd', 'warn', n=1)\n    try:\n        return await host.call('fs', {})\n    except HostError as error:\n        return error.code + ': ' + str(error)\n"
        with Talk(source) as talk:
            talk.ready()
            talk.send(type="tool_call", id="7", name="it", args={})
            self.assertEqual(talk.read("progress"), {"type": "progress", "id": "7", "message": "begun"})
            self.assertEqual(talk.read("log")["level"], "warn")
            call = talk.read("host_call")
            talk.send(type="host_result", id=call["id"], output=None, is_error=True, error={"code": "denied", "message": "no"})
            self.assertEqual(text_of(talk.read("tool_result")), "denied: no")
        with Talk("host.call('fs', {})\ndef run(): pass\n") as talk:
            self.assertIn("while the file is loaded", talk.ready()[-1]["message"])


class Calls(unittest.TestCase):
    def test_plain_functions_overlap(self):
        source = "import threading\nboth = threading.Barrier(2)\ndef run():\n    both.wait(20)\n    return 'met'\n"
        with Talk(source) as talk:
            talk.ready()
            for number in "12":
                talk.send(type="tool_call", id=number, name="it", args={})
            self.assertEqual([text_of(talk.read("tool_result")) for _ in range(2)], ["met", "met"])

    def test_a_call_that_is_given_up_ends(self):
        for source in (
            "def run(wait: bool):\n    while wait:\n        pass\n    return 'done'\n",
            "import asyncio\nasync def run(wait: bool):\n    if wait:\n        await asyncio.sleep(1000)\n    return 'done'\n",
        ):
            with Talk(source) as talk:
                talk.ready()
                for number in range(3):
                    talk.send(type="tool_call", id="w%d" % number, name="it", args={"wait": True})
                    talk.send(type="tool_cancel", id="w%d" % number)
                    answer = talk.read("tool_result")
                    self.assertEqual((answer["id"], answer["is_error"]), ("w%d" % number, True))
                    self.assertEqual(text_of(talk.call("d%d" % number, wait=False)), "done")

    def test_more_calls_than_threads_are_all_answered(self):
        source = "import time\ndef run(n: int):\n    time.sleep(0.01)\n    return n\n"
        with Talk(source) as talk:
            talk.ready()
            for number in range(600):
                talk.send(type="tool_call", id=str(number), name="it", args={"n": number})
                if number % 3 == 0:
                    talk.send(type="tool_cancel", id=str(number))
            answers = [talk.read("tool_result") for _ in range(600)]
            self.assertEqual({answer["id"] for answer in answers}, {str(number) for number in range(600)})
            self.assertEqual(text_of(talk.call("last", n=7)), "7")

    def test_a_long_line_is_read_in_time(self):
        with Talk("def run(text: str):\n    return len(text)\n") as talk:
            talk.ready()
            self.assertEqual(text_of(talk.call(text="x" * 20000000)), "20000000")

    def test_plain_functions_that_give_a_coroutine(self):
        self.assertEqual(text_of(run("async def inner():\n    return 'inner'\ndef run():\n    return inner()\n")), "inner")

    def test_a_farewell_waits_for_what_runs(self):
        source = "import threading\ngo = threading.Event()\ndef run(go_on: bool):\n    if go_on:\n        go.set()\n    go.wait(20)\n    return 'done'\n"
        with Talk(source) as talk:
            talk.ready()
            talk.send(type="tool_call", id="1", name="it", args={"go_on": False})
            talk.send(type="tool_call", id="2", name="it", args={"go_on": True})
            talk.send(type="shutdown")
            talk.process.stdin.close()
            ids = {talk.read("tool_result")["id"] for _ in range(2)}
            self.assertEqual(ids, {"1", "2"})
            self.assertEqual(talk.process.wait(20), 0)
            talk.process.stdin = open(os.devnull, "w")


class Together(unittest.TestCase):
    def test_many_files_are_described_at_once_and_a_crash_costs_one(self):
        import subprocess
        import sys
        import tempfile

        from support import ROOT, write

        with tempfile.TemporaryDirectory() as folder:
            sources = {
                "fine": "def run(x: int): 'Fine.'\n", "dead": "import os\nos._exit(3)\n", "bad": "def run(\n",
                "noisy": "print('x' * 100000)\ndef run(): pass\n",
                "native": "import ctypes\nctypes.string_at(0)\n", "env": "import os\nname = os.environ['ONLY']\ndef run(): pass\n",
            }
            orders = []
            for name, source in sources.items():
                file = os.path.join(folder, name + ".py")
                write(file, source)
                env = {"ONLY": "here"} if name == "env" else {}
                orders.append({"id": name, "role": "tool", "file": file, "name": name, "env": env})
            text = "".join(json.dumps(order) + "\n" for order in orders)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "main.py"), "describe"], input=text.encode(), stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, check=True)
            told = {line["id"]: line for line in map(json.loads, done.stdout.splitlines())}
            self.assertEqual(told["fine"]["frames"][0]["description"], "Fine.")
            self.assertIn("bad.py:1", told["bad"]["error"])
            self.assertEqual((told["dead"], told["native"]), ({"id": "dead"}, {"id": "native"}))
            self.assertIn("frames", told["noisy"])
            self.assertIn("frames", told["env"])


if __name__ == "__main__":
    unittest.main()
