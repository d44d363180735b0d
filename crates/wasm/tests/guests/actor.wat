;; A component that does on command whatever a component can do, and whatever it can do wrong.
;; Strings and records lie at fixed places; `$heap` grows behind them and starts again with every call.
(module
  (import "jackfield:extension/log@1.0.0" "write" (func $log (param i32 i32 i32 i32 i32 i32)))
  (import "jackfield:extension/host@1.0.0" "call" (func $host (param i32 i32 i32 i32 i32)))
  (import "jackfield:extension/host@1.0.0" "contribute" (func $contribute (param i32)))
  (import "jackfield:extension/env@1.0.0" "random" (func $random (param i32 i32)))
  (import "jackfield:extension/tool@1.0.0" "progress" (func $progress (param i32 i32)))
  (import "jackfield:extension/storage@1.0.0" "get" (func $load (param i32 i32 i32 i32 i32)))
  (import "jackfield:extension/storage@1.0.0" "set" (func $save (param i32 i32 i32 i32 i32 i32 i32)))

  (memory (export "memory") 2)
  (global $heap (mut i32) (i32.const 3936))
  (global $calls (mut i32) (i32.const 0))
  (global $stubborn (mut i32) (i32.const 0))

  (func $alloc (param $size i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (block $fits
      (loop $grow
        (br_if $fits (i32.le_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))))
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
        (br $grow)))
    (local.get $at))

  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (call $alloc (local.get $size)))
    (memory.copy (local.get $at) (local.get $old) (local.get $old_size))
    (local.get $at))

  ;; What a call has put on the heap goes when the next call begins.
  (func $done (global.set $heap (i32.const 3936)))

  ;; A tool result of one block of text.
  (func $answer (param $text i32) (param $length i32) (param $is_error i32) (result i32) (local $at i32)
    (local.set $at (call $alloc (i32.const 64)))
    (memory.fill (local.get $at) (i32.const 0) (i32.const 64))
    (i32.store (i32.add (local.get $at) (i32.const 4)) (i32.add (local.get $at) (i32.const 40)))
    (i32.store (i32.add (local.get $at) (i32.const 8)) (i32.const 1))
    (i32.store8 (i32.add (local.get $at) (i32.const 12)) (local.get $is_error))
    (i32.store (i32.add (local.get $at) (i32.const 44)) (local.get $text))
    (i32.store (i32.add (local.get $at) (i32.const 48)) (local.get $length))
    (local.get $at))

  ;; A name of up to eight bytes as a number.
  (func $packed (param $at i32) (param $length i32) (result i64) (local $all i64) (local $i i32)
    (block $end
      (loop $next
        (br_if $end (i32.or (i32.ge_u (local.get $i) (local.get $length)) (i32.ge_u (local.get $i) (i32.const 8))))
        (local.set $all (i64.or (local.get $all) (i64.shl
          (i64.load8_u (i32.add (local.get $at) (local.get $i)))
          (i64.extend_i32_u (i32.mul (local.get $i) (i32.const 8))))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $all))

  ;; Whether a text holds a word.
  (func $holds (param $text i32) (param $length i32) (param $word i32) (param $size i32) (result i32)
    (local $i i32) (local $j i32)
    (block $no
      (loop $next
        (br_if $no (i32.gt_u (i32.add (local.get $i) (local.get $size)) (local.get $length)))
        (local.set $j (i32.const 0))
        (block $differs
          (loop $same
            (if (i32.eq (local.get $j) (local.get $size)) (then (return (i32.const 1))))
            (br_if $differs (i32.ne
              (i32.load8_u (i32.add (local.get $text) (i32.add (local.get $i) (local.get $j))))
              (i32.load8_u (i32.add (local.get $word) (local.get $j)))))
            (local.set $j (i32.add (local.get $j) (i32.const 1)))
            (br $same)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  (func $spin_for_ever (loop $on (br $on)))
  (func $recurse_for_ever (param i32) (result i32)
    (i32.add (call $recurse_for_ever (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
  (func $take_memory (loop $on
    (if (i32.eq (memory.grow (i32.const 160)) (i32.const -1)) (then unreachable))
    (br $on)))
  (func $the_innermost unreachable)
  (func $the_outer (call $the_innermost))

  (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (i32.const 3400))

  (func (export "jackfield:extension/guest@1.0.0#call-tool")
    (param $id i32) (param $id_length i32) (param $place i32) (param $place_length i32) (param $deadline f64)
    (param $meta i32) (param $meta_length i32)
    (param $name i32) (param $name_length i32) (param $args i32) (param $args_length i32)
    (result i32)
    (local $which i64) (local $at i32) (local $i i32) (local $n i32)
    (local.set $which (call $packed (local.get $name) (local.get $name_length)))
    ;; echo
    (if (i64.eq (local.get $which) (i64.const 1869112165)) (then
      (return (call $answer (local.get $args) (local.get $args_length) (i32.const 0)))))
    ;; fail
    (if (i64.eq (local.get $which) (i64.const 1818845542)) (then
      (return (call $answer (i32.const 3640) (i32.const 19) (i32.const 1)))))
    ;; error
    (if (i64.eq (local.get $which) (i64.const 491496043109)) (then
      (local.set $at (call $alloc (i32.const 64)))
      (memory.fill (local.get $at) (i32.const 0) (i32.const 64))
      (i32.store8 (local.get $at) (i32.const 1))
      (i32.store (i32.add (local.get $at) (i32.const 4)) (i32.const 3659))
      (i32.store (i32.add (local.get $at) (i32.const 8)) (i32.const 9))
      (i32.store (i32.add (local.get $at) (i32.const 12)) (i32.const 3668))
      (i32.store (i32.add (local.get $at) (i32.const 16)) (i32.const 22))
      (return (local.get $at))))
    ;; count
    (if (i64.eq (local.get $which) (i64.const 500069396323)) (then
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (local.set $at (call $alloc (i32.const 8)))
      (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (global.get $calls) (i32.const 10))))
      (return (call $answer (local.get $at) (i32.const 1) (i32.const 0)))))
    ;; spin
    (if (i64.eq (local.get $which) (i64.const 1852403827)) (then
      (call $spin_for_ever)))
    ;; deep
    (if (i64.eq (local.get $which) (i64.const 1885693284)) (then
      (drop (call $recurse_for_ever (i32.const 0)))))
    ;; bomb
    (if (i64.eq (local.get $which) (i64.const 1651339106)) (then
      (call $take_memory)))
    ;; trap
    (if (i64.eq (local.get $which) (i64.const 1885434484)) (then
      (call $the_outer)))
    ;; progress
    (if (i64.eq (local.get $which) (i64.const 8319104478719472240)) (then
      (call $progress (i32.const 3733) (i32.const 8))
      (return (call $answer (local.get $args) (local.get $args_length) (i32.const 0)))))
    ;; logs
    (if (i64.eq (local.get $which) (i64.const 1936158572)) (then
      (loop $again
        (call $log (i32.const 3729) (i32.const 4) (i32.const 3712) (i32.const 17) (i32.const 0) (i32.const 0))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $again (i32.lt_u (local.get $i) (i32.const 20000))))
      (return (call $answer (local.get $args) (local.get $args_length) (i32.const 0)))))
    ;; huge
    (if (i64.eq (local.get $which) (i64.const 1701279080)) (then
      (local.set $at (call $alloc (i32.const 33554432)))
      (memory.fill (local.get $at) (i32.const 120) (i32.const 33554432))
      (return (call $answer (local.get $at) (i32.const 33554432) (i32.const 0)))))
    ;; bad
    (if (i64.eq (local.get $which) (i64.const 6578530)) (then
      (return (call $answer (i32.const -16) (i32.const 1000) (i32.const 0)))))
    ;; offer
    (if (i64.eq (local.get $which) (i64.const 491327481455)) (then
      (call $contribute (i32.const 3568))
      (return (call $answer (local.get $args) (local.get $args_length) (i32.const 0)))))
    ;; loop
    (if (i64.eq (local.get $which) (i64.const 1886351212)) (then
      (local.set $at (call $alloc (i32.const 64)))
      (local.set $i (global.get $heap))
      (loop $again
        (global.set $heap (local.get $i))
        ;; With arguments it computes for a moment before each call.
        (if (i32.gt_u (local.get $args_length) (i32.const 2)) (then
          (local.set $n (i32.const 1000000))
          (loop $computing
            (local.set $n (i32.sub (local.get $n) (i32.const 1)))
            (br_if $computing (local.get $n)))))
        (call $host (i32.const 1581) (i32.const 7) (i32.const 3741) (i32.const 13) (local.get $at))
        (br $again))))
    ;; give
    (if (i64.eq (local.get $which) (i64.const 1702259047)) (then
      (call $host (local.get $name) (local.get $name_length) (i32.const 0) (i32.const 1073741824) (call $alloc (i32.const 64)))
      unreachable))
    ;; stay
    (if (i64.eq (local.get $which) (i64.const 2036429939)) (then
      (global.set $stubborn (i32.const 1))
      (return (call $answer (local.get $args) (local.get $args_length) (i32.const 0)))))
    ;; save
    (if (i64.eq (local.get $which) (i64.const 1702257011)) (then
      (local.set $at (call $alloc (i32.const 64)))
      (call $save (i32.const 3754) (i32.const 9) (i32.const 3763) (i32.const 10)
        (local.get $args) (local.get $args_length) (local.get $at))
      (if (i32.load8_u (local.get $at)) (then
        (return (call $answer (i32.load (i32.add (local.get $at) (i32.const 12))) (i32.load (i32.add (local.get $at) (i32.const 16))) (i32.const 1)))))
      (return (call $answer (local.get $args) (local.get $args_length) (i32.const 0)))))
    ;; load
    (if (i64.eq (local.get $which) (i64.const 1684107116)) (then
      (local.set $at (call $alloc (i32.const 64)))
      (call $load (i32.const 3754) (i32.const 9) (i32.const 3763) (i32.const 10) (local.get $at))
      (if (i32.load8_u (local.get $at)) (then
        (return (call $answer (i32.load (i32.add (local.get $at) (i32.const 12))) (i32.load (i32.add (local.get $at) (i32.const 16))) (i32.const 1)))))
      (if (i32.eqz (i32.load8_u (i32.add (local.get $at) (i32.const 4)))) (then
        (return (call $answer (i32.const 3773) (i32.const 15) (i32.const 0)))))
      (return (call $answer (i32.load (i32.add (local.get $at) (i32.const 8))) (i32.load (i32.add (local.get $at) (i32.const 12))) (i32.const 0)))))
    ;; random
    (if (i64.eq (local.get $which) (i64.const 120325193752946)) (then
      (call $random (i32.const 1000000) (call $alloc (i32.const 8)))))
    ;; Any other tool is a host call of that name, with the tool's arguments.
    (local.set $at (call $alloc (i32.const 64)))
    (call $host (local.get $name) (local.get $name_length) (local.get $args) (local.get $args_length) (local.get $at))
    (if (i32.load8_u (local.get $at)) (then
      (return (call $answer (i32.load (i32.add (local.get $at) (i32.const 12))) (i32.load (i32.add (local.get $at) (i32.const 16))) (i32.const 1)))))
    (call $answer (i32.load (i32.add (local.get $at) (i32.const 4))) (i32.load (i32.add (local.get $at) (i32.const 8))) (i32.const 0)))

  (func (export "cabi_post_jackfield:extension/guest@1.0.0#call-tool") (param i32) (call $done))

  ;; A variant with a text: a case and a string.
  (func $case (param $case i32) (param $text i32) (param $length i32) (result i32) (local $at i32)
    (local.set $at (call $alloc (i32.const 32)))
    (memory.fill (local.get $at) (i32.const 0) (i32.const 32))
    (i32.store8 (local.get $at) (local.get $case))
    (i32.store (i32.add (local.get $at) (i32.const 4)) (local.get $text))
    (i32.store (i32.add (local.get $at) (i32.const 8)) (local.get $length))
    (local.get $at))

  (func (export "jackfield:extension/handlers@1.0.0#init") (param $context i32) (param $length i32) (result i32)
    (if (call $holds (local.get $context) (local.get $length) (i32.const 3902) (i32.const 20)) (then
      (return (call $case (i32.const 1) (i32.const 3893) (i32.const 9)))))
    (call $case (i32.const 0) (i32.const 0) (i32.const 0)))

  (func (export "jackfield:extension/handlers@1.0.0#run-command")
    (param i32 i32 i32 i32 f64 i32 i32) (param $name i32) (param $name_length i32) (param $args i32) (param $args_length i32)
    (result i32) (local $at i32)
    (local.set $at (call $alloc (i32.const 48)))
    (memory.fill (local.get $at) (i32.const 0) (i32.const 48))
    (if (i64.eq (call $packed (local.get $name) (local.get $name_length)) (i64.const 26984)) (then
      (i32.store8 (i32.add (local.get $at) (i32.const 4)) (i32.const 1))
      (i32.store (i32.add (local.get $at) (i32.const 8)) (i32.const 3690))
      (i32.store (i32.add (local.get $at) (i32.const 12)) (i32.const 22))
      (return (local.get $at))))
    (i32.store8 (local.get $at) (i32.const 1))
    (i32.store (i32.add (local.get $at) (i32.const 12)) (i32.const 3874))
    (i32.store (i32.add (local.get $at) (i32.const 16)) (i32.const 19))
    (local.get $at))

  (func (export "jackfield:extension/handlers@1.0.0#on-event")
    (param i32 i32 i32 i32 f64 i32 i32) (param $event i32) (param $event_length i32) (param $data i32) (param $data_length i32)
    (call $log (i32.const 3729) (i32.const 4) (local.get $event) (local.get $event_length) (local.get $data) (local.get $data_length))
    (call $done))

  (func (export "jackfield:extension/handlers@1.0.0#hook")
    (param i32 i32 i32 i32 f64 i32 i32) (param $point i32) (param $point_length i32) (param $payload i32) (param $length i32)
    (result i32)
    (if (i64.eq (call $packed (local.get $point) (local.get $point_length)) (i64.const 7957695015460107633)) (then
      (return (call $case (i32.const 3) (i32.const 3860) (i32.const 13)))))
    (if (call $holds (local.get $payload) (local.get $length) (i32.const 3788) (i32.const 8)) (then
      (return (call $case (i32.const 2) (i32.const 3813) (i32.const 17)))))
    (if (call $holds (local.get $payload) (local.get $length) (i32.const 3796) (i32.const 8)) (then
      (return (call $case (i32.const 1) (i32.const 3830) (i32.const 18)))))
    (if (call $holds (local.get $payload) (local.get $length) (i32.const 3804) (i32.const 9)) (then
      (call $the_outer)))
    (call $case (i32.const 0) (i32.const 0) (i32.const 0)))

  (func (export "jackfield:extension/handlers@1.0.0#shutdown") (param $reason i32) (param $length i32)
    (if (global.get $stubborn) (then (call $spin_for_ever)))
    (call $log (i32.const 3729) (i32.const 4) (i32.const 3853) (i32.const 7) (i32.const 0) (i32.const 0)))

  (data (i32.const 1024) "echo")
  (data (i32.const 1028) "answers with its arguments")
  (data (i32.const 1054) "{\22type\22:\22object\22,\22properties\22:{\22text\22:{\22type\22:\22string\22}}}")
  (data (i32.const 1111) "{\22output_schema\22:{\22type\22:\22object\22}}")
  (data (i32.const 1146) "Echo")
  (data (i32.const 1150) "fail")
  (data (i32.const 1154) "says that it failed")
  (data (i32.const 1173) "error")
  (data (i32.const 1178) "answers with an error")
  (data (i32.const 1199) "count")
  (data (i32.const 1204) "counts its calls in linear memory")
  (data (i32.const 1237) "spin")
  (data (i32.const 1241) "computes for ever")
  (data (i32.const 1258) "deep")
  (data (i32.const 1262) "recurses for ever")
  (data (i32.const 1279) "bomb")
  (data (i32.const 1283) "takes memory for ever")
  (data (i32.const 1304) "trap")
  (data (i32.const 1308) "traps")
  (data (i32.const 1313) "progress")
  (data (i32.const 1321) "tells its progress")
  (data (i32.const 1339) "logs")
  (data (i32.const 1343) "writes 20000 log lines")
  (data (i32.const 1365) "huge")
  (data (i32.const 1369) "answers with 32 MB")
  (data (i32.const 1387) "bad")
  (data (i32.const 1390) "answers with nonsense")
  (data (i32.const 1411) "offer")
  (data (i32.const 1416) "changes what it contributes")
  (data (i32.const 1443) "loop")
  (data (i32.const 1447) "calls the host for ever")
  (data (i32.const 1470) "give")
  (data (i32.const 1474) "gives the host a 1 GB argument")
  (data (i32.const 1504) "stay")
  (data (i32.const 1508) "will not go politely")
  (data (i32.const 1528) "env")
  (data (i32.const 1531) "asks for a variable")
  (data (i32.const 1550) "fs")
  (data (i32.const 1552) "uses a file")
  (data (i32.const 1563) "exec")
  (data (i32.const 1567) "runs a program")
  (data (i32.const 1581) "session")
  (data (i32.const 1588) "looks at the session")
  (data (i32.const 1608) "ui")
  (data (i32.const 1610) "asks the person")
  (data (i32.const 1625) "tool")
  (data (i32.const 1629) "calls a tool")
  (data (i32.const 1641) "save")
  (data (i32.const 1645) "keeps its arguments")
  (data (i32.const 1664) "load")
  (data (i32.const 1668) "gives back what it kept")
  (data (i32.const 1691) "random")
  (data (i32.const 1697) "asks for too many random bytes")
  (data (i32.const 1727) "hi")
  (data (i32.const 1729) "greets")
  (data (i32.const 1735) "oops")
  (data (i32.const 1739) "fails")
  (data (i32.const 1744) "session_start")
  (data (i32.const 1757) "ext_*")
  (data (i32.const 1762) "shout*")
  ;; tools of a hook
  (data (i32.const 1768) "\dd\06\00\00\05\00\00\00\00\04\00\00\04\00\00\00\e2\06\00\00\06\00\00\00\af\04\00\00\05\00\00\00")
  (data (i32.const 1800) "before_tool_call")
  (data (i32.const 1816) "question")
  (data (i32.const 1824) "ACTOR_*")
  ;; scope of a capability
  (data (i32.const 1832) "\20\07\00\00\07\00\00\00")
  (data (i32.const 1840) "to greet by name")
  (data (i32.const 1856) "notes/**")
  ;; scope of a capability
  (data (i32.const 1864) "\40\07\00\00\08\00\00\00")
  (data (i32.const 1872) "read")
  (data (i32.const 1876) "to read notes")
  (data (i32.const 1889) "to know where it is")
  (data (i32.const 1908) "to ask")
  ;; scope of a capability
  (data (i32.const 1920) "\40\07\00\00\08\00\00\00")
  (data (i32.const 1928) "write")
  (data (i32.const 1933) "to write notes")
  (data (i32.const 1947) "magic")
  (data (i32.const 1952) "is no power")
  (data (i32.const 1963) "actor")
  (data (i32.const 1968) "1.2.3")
  (data (i32.const 1973) "does on command whatever a component can do wrong")
  ;; tools
  (data (i32.const 2024) "\00\04\00\00\04\00\00\00\01\00\00\00\7a\04\00\00\04\00\00\00\04\04\00\00\1a\00\00\00\1e\04\00\00\39\00\00\00\57\04\00\00\23\00\00\00\7e\04\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\82\04\00\00\13\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\95\04\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\9a\04\00\00\15\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\af\04\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\b4\04\00\00\21\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\d5\04\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\d9\04\00\00\11\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\ea\04\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\ee\04\00\00\11\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\ff\04\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\03\05\00\00\15\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\18\05\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\1c\05\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\21\05\00\00\08\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\29\05\00\00\12\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\3b\05\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\3f\05\00\00\16\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\55\05\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\59\05\00\00\12\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\6b\05\00\00\03\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\6e\05\00\00\15\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\83\05\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\88\05\00\00\1b\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\a3\05\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\a7\05\00\00\17\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\be\05\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\c2\05\00\00\1e\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\e0\05\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\e4\05\00\00\14\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\f8\05\00\00\03\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\fb\05\00\00\13\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\0e\06\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\10\06\00\00\0b\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\1b\06\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\1f\06\00\00\0e\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\2d\06\00\00\07\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\34\06\00\00\14\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\48\06\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\4a\06\00\00\0f\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\59\06\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\5d\06\00\00\0c\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\69\06\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\6d\06\00\00\13\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\80\06\00\00\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\84\06\00\00\17\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\9b\06\00\00\06\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\a1\06\00\00\1e\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  ;; commands
  (data (i32.const 3128) "\bf\06\00\00\02\00\00\00\c1\06\00\00\06\00\00\00\c7\06\00\00\04\00\00\00\cb\06\00\00\05\00\00\00")
  ;; events
  (data (i32.const 3160) "\d0\06\00\00\0d\00\00\00")
  ;; hooks
  (data (i32.const 3168) "\08\07\00\00\10\00\00\00\e8\06\00\00\04\00\00\00\18\07\00\00\08\00\00\00\00\00\00\00\00\00\00\00")
  ;; capabilities
  (data (i32.const 3200) "\f8\05\00\00\03\00\00\00\28\07\00\00\01\00\00\00\30\07\00\00\10\00\00\00\50\07\00\00\04\00\00\00\48\07\00\00\01\00\00\00\54\07\00\00\0d\00\00\00\2d\06\00\00\07\00\00\00\00\00\00\00\00\00\00\00\61\07\00\00\13\00\00\00\48\06\00\00\02\00\00\00\00\00\00\00\00\00\00\00\74\07\00\00\06\00\00\00\88\07\00\00\05\00\00\00\80\07\00\00\01\00\00\00\8d\07\00\00\0e\00\00\00\9b\07\00\00\05\00\00\00\00\00\00\00\00\00\00\00\a0\07\00\00\0b\00\00\00")
  (data (i32.const 3344) "{\22shortcuts\22:[{\22key\22:\22ctrl+g\22,\22description\22:\22greets\22}]}")
  ;; registration: name, version, description, tools, commands, events, hooks, capabilities, extra
  (data (i32.const 3400) "\ab\07\00\00\05\00\00\00\b0\07\00\00\05\00\00\00\b5\07\00\00\31\00\00\00\e8\07\00\00\19\00\00\00\38\0c\00\00\02\00\00\00\58\0c\00\00\01\00\00\00\60\0c\00\00\02\00\00\00\80\0c\00\00\06\00\00\00\10\0d\00\00\37\00\00\00")
  (data (i32.const 3472) "second")
  (data (i32.const 3478) "came later")
  (data (i32.const 3488) "1.2.4")
  (data (i32.const 3493) "has another tool now")
  ;; tools
  (data (i32.const 3520) "\90\0d\00\00\06\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\96\0d\00\00\0a\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  ;; registration: name, version, description, tools, commands, events, hooks, capabilities, extra
  (data (i32.const 3568) "\ab\07\00\00\05\00\00\00\a0\0d\00\00\05\00\00\00\a5\0d\00\00\14\00\00\00\c0\0d\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 3640) "it did not work out")
  (data (i32.const 3659) "not_found")
  (data (i32.const 3668) "there is no such thing")
  (data (i32.const 3690) "hello from a component")
  (data (i32.const 3712) "one of many lines")
  (data (i32.const 3729) "info")
  (data (i32.const 3733) "half way")
  (data (i32.const 3741) "{\22op\22:\22name\22}")
  (data (i32.const 3754) "extension")
  (data (i32.const 3763) "kept value")
  (data (i32.const 3773) "nothing is kept")
  (data (i32.const 3788) "\22stopme\22")
  (data (i32.const 3796) "\22swapme\22")
  (data (i32.const 3804) "\22crashme\22")
  (data (i32.const 3813) "the actor says no")
  (data (i32.const 3830) "{\22text\22:\22swapped\22}")
  (data (i32.const 3848) "event")
  (data (i32.const 3853) "goodbye")
  (data (i32.const 3860) "{\22answer\22:42}")
  (data (i32.const 3873) " ")
  (data (i32.const 3874) "it does not do that")
  (data (i32.const 3893) "not today")
  (data (i32.const 3902) "\22extension\22:\22grumpy\22"))
