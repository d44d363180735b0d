//! The world as Rust sees it, generated from `wit/`.

#![allow(missing_docs, clippy::indexing_slicing, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "extension",
    imports: {
        "jackfield:extension/log.write": trappable,
        "jackfield:extension/env.now-ms": trappable,
        "jackfield:extension/env.monotonic-ns": trappable,
        "jackfield:extension/env.random": trappable,
        "jackfield:extension/tool.progress": trappable,
        "jackfield:extension/host.contribute": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    with: { "jackfield:extension/host.stream": crate::imports::Stream },
});
