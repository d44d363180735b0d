;; What toolchains import of WASI: variables, standard output, sockets, an end.
(module
  (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush" (func $write (param i32 i32 i32 i32)))
  (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
  (import "wasi:sockets/tcp-create-socket@0.2.0" "create-tcp-socket" (func $socket (param i32) (result i32)))
  (memory (export "memory") 4)
  (global $heap (mut i32) (i32.const 496))

  (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (local.get $at))

  (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (i32.const 392))

  ;; By the first letter of the tool's name; the answer is a digit, at 48.
  (func (export "jackfield:extension/guest@1.0.0#call-tool")
    (param i32 i32 i32 i32 f64 i32 i32) (param $name i32) (param i32 i32 i32) (result i32)
    (local $letter i32)
    (global.set $heap (i32.const 496))
    (local.set $letter (i32.load8_u (local.get $name)))
    (i32.store (i32.const 48) (i32.const 48))
    (if (i32.eq (local.get $letter) (i32.const 101)) (then
      (call $environment (i32.const 0))
      (i32.store (i32.const 48) (i32.add (i32.const 48) (i32.load (i32.const 4))))))
    (if (i32.eq (local.get $letter) (i32.const 112)) (then
      (call $write (call $stdout) (i32.const 464) (i32.const 27) (i32.const 0))
      (if (i32.load8_u (i32.const 0)) (then unreachable))))
    (if (i32.eq (local.get $letter) (i32.const 115)) (then (drop (call $socket (i32.const 0)))))
    (if (i32.eq (local.get $letter) (i32.const 113)) (then (call $exit (i32.const 1))))
    (i64.store (i32.const 0) (i64.const 0)) (i64.store (i32.const 8) (i64.const 0))
    (i64.store (i32.const 16) (i64.const 0)) (i64.store (i32.const 24) (i64.const 0))
    (i32.store (i32.const 4) (i32.const 32)) (i32.store (i32.const 8) (i32.const 1))
    (i32.store (i32.const 32) (i32.const 0))
    (i32.store (i32.const 36) (i32.const 48)) (i32.store (i32.const 40) (i32.const 1))
    (i32.const 0))

  (data (i32.const 64) "environment")
  (data (i32.const 75) "how many variables there are")
  (data (i32.const 103) "print")
  (data (i32.const 108) "writes to standard output")
  (data (i32.const 133) "socket")
  (data (i32.const 139) "opens a socket")
  (data (i32.const 153) "quit")
  (data (i32.const 157) "ends itself")
  (data (i32.const 168) "talker")
  (data (i32.const 174) "1.0.0")
  (data (i32.const 179) "does what toolchains do with WASI")
  ;; tools
  (data (i32.const 216) "\40\00\00\00\0b\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\4b\00\00\00\1c\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\67\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\6c\00\00\00\19\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\85\00\00\00\06\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\8b\00\00\00\0e\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\99\00\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\9d\00\00\00\0b\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  ;; registration: name, version, description, tools, commands, events, hooks, capabilities, extra
  (data (i32.const 392) "\a8\00\00\00\06\00\00\00\ae\00\00\00\05\00\00\00\b3\00\00\00\21\00\00\00\d8\00\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 464) "hello from standard output\0a"))
