;; The smallest useful tool: it answers with its arguments in capital letters, and imports nothing but the log.
(module
  (import "jackfield:extension/log@1.0.0" "write" (func $log (param i32 i32 i32 i32 i32 i32)))
  (memory (export "memory") 4)
  (global $heap (mut i32) (i32.const 288))

  ;; Nothing is ever given back: arguments of a call start where those of the last one did.
  (func (export "cabi_realloc") (param i32 i32 i32) (param $size i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (local.get $at))

  (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (i32.const 200))

  (func (export "jackfield:extension/guest@1.0.0#call-tool")
    (param i32 i32 i32 i32 f64 i32 i32 i32 i32) (param $args i32) (param $length i32) (result i32)
    (local $i i32) (local $letter i32)
    (call $log (i32.const 272) (i32.const 4) (i32.const 276) (i32.const 8) (i32.const 0) (i32.const 0))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $i) (local.get $length)))
        (local.set $letter (i32.load8_u (i32.add (local.get $args) (local.get $i))))
        (if (i32.lt_u (i32.sub (local.get $letter) (i32.const 97)) (i32.const 26)) (then
          (i32.store8 (i32.add (local.get $args) (local.get $i)) (i32.sub (local.get $letter) (i32.const 32)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (global.set $heap (i32.const 288))
    ;; The answer lies in front of everything else: ok, one block of content at 32, no error, no details.
    (i64.store (i32.const 0) (i64.const 0)) (i64.store (i32.const 8) (i64.const 0))
    (i64.store (i32.const 16) (i64.const 0)) (i64.store (i32.const 24) (i64.const 0))
    (i32.store (i32.const 4) (i32.const 32)) (i32.store (i32.const 8) (i32.const 1))
    (i32.store (i32.const 32) (i32.const 0))
    (i32.store (i32.const 36) (local.get $args)) (i32.store (i32.const 40) (local.get $length))
    (i32.const 0))

  (data (i32.const 64) "shout")
  (data (i32.const 69) "answers with its arguments in capital letters")
  (data (i32.const 114) "pure")
  (data (i32.const 118) "1.0.0")
  (data (i32.const 123) "a tool that only computes")
  ;; tools
  (data (i32.const 152) "\40\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\45\00\00\00\2d\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  ;; registration: name, version, description, tools, commands, events, hooks, capabilities, extra
  (data (i32.const 200) "\72\00\00\00\04\00\00\00\76\00\00\00\05\00\00\00\7b\00\00\00\19\00\00\00\98\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 272) "info")
  (data (i32.const 276) "shouting"))
