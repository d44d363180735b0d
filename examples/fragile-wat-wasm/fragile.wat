;; The text form of a core module: everything that a component consists of, by hand. One tool answers, the other runs into
;; a trap, which ends its instance and nothing else; the next call gets a new one.
;;
;; `cargo xtask examples fragile-wat-wasm` makes fragile.wasm of it.
(module
  (memory (export "memory") 1)

  ;; Texts.
  (data (i32.const 1024) "fragile")
  (data (i32.const 1040) "1.0.0")
  (data (i32.const 1056) "Stands or falls.")
  (data (i32.const 1088) "stand")
  (data (i32.const 1104) "Answers.")
  (data (i32.const 1120) "fall")
  (data (i32.const 1136) "Runs into a trap.")
  (data (i32.const 1168) "{\"type\":\"object\"}")
  (data (i32.const 1200) "still standing")

  ;; The registration: pairs of pointer and length for name, version, description, tools; the rest is empty.
  (data (i32.const 2048)
    "\00\04\00\00\07\00\00\00" "\10\04\00\00\05\00\00\00" "\20\04\00\00\10\00\00\00" "\80\08\00\00\02\00\00\00")
  ;; Two tools of 44 bytes: name, no label, description, schema, no annotations.
  (data (i32.const 2176)
    "\40\04\00\00\05\00\00\00" "\00\00\00\00\00\00\00\00\00\00\00\00" "\50\04\00\00\08\00\00\00"
    "\90\04\00\00\11\00\00\00" "\00\00\00\00\00\00\00\00"
    "\60\04\00\00\04\00\00\00" "\00\00\00\00\00\00\00\00\00\00\00\00" "\70\04\00\00\11\00\00\00"
    "\90\04\00\00\11\00\00\00" "\00\00\00\00\00\00\00\00")
  ;; One block of content, a text; and a result that is fine and has this block.
  (data (i32.const 2304) "\00\00\00\00" "\b0\04\00\00\0e\00\00\00")
  (data (i32.const 2336) "\00\00\00\00" "\00\09\00\00\01\00\00\00" "\00\00\00\00" "\00\00\00\00")

  ;; Room for arguments: each call begins where the last one did, because nothing outlives it.
  (global $free (mut i32) (i32.const 4096))
  (func (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at
      (i32.and
        (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (block $fits
      (loop $grow
        (br_if $fits
          (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))
        (unreachable)))
    (local.get $at))

  (func $describe (export "jackfield:extension/guest@1.0.0#describe") (result i32)
    (i32.const 2048))

  ;; Context (seven numbers), name, arguments. The two names differ in length.
  (func $call-tool (export "jackfield:extension/guest@1.0.0#call-tool")
    (param i32 i32 i32 i32 f64 i32 i32) (param $name i32) (param $name-length i32) (param i32 i32) (result i32)
    (global.set $free (i32.const 4096))
    (if (i32.eq (local.get $name-length) (i32.const 4))
      (then (call $fall)))
    (i32.const 2336))

  (func $fall
    (unreachable)))
